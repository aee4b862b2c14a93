"""The events API, read as its manual says."""

import time
from collections import Counter
from typing import Any

import pytest
import requests

from mailkoenig.simulator import Rates, Simulator
from mailkoenig.simulator.expressions import matches
from tests.mailkoenig.simulator.calls import ACCOUNT, DOMAIN, SENDING, batch, events, read, send

LIVELY = Rates(
    bounced=0.1, deferred=0.2, opened=0.5, machine=0.3, clicked=0.2, complained=0.1, unsubscribed=0.1
)


def test_paging_gives_every_event_once_and_ends_with_an_empty_page() -> None:
    with Simulator(rates=LIVELY, pace=0) as simulator:
        batch(simulator, 250)
        batch(simulator, 250)
        found = events(simulator, limit=37)

    kinds = Counter(event["event"] for event in found)
    assert kinds["accepted"] == 500
    assert kinds["delivered"] + sum(event.get("severity") == "permanent" for event in found) == 500
    assert len({event["id"] for event in found}) == len(found)
    assert set(kinds) == {
        "accepted",
        "delivered",
        "failed",
        "opened",
        "clicked",
        "complained",
        "unsubscribed",
    }


def test_paging_back_gives_the_same_the_other_way_round(simulator: Simulator) -> None:
    batch(simulator, 30)
    simulator.happenings.pace = 0
    there = events(simulator)
    back = events(simulator, begin="", ascending="no", limit=7)

    assert [event["id"] for event in back] == [event["id"] for event in reversed(there)]


def test_pages_link_both_ways_even_when_empty(simulator: Simulator) -> None:
    page = read(simulator, f"/v3/{DOMAIN}/events")

    assert page["items"] == []
    assert all(page["paging"][way].startswith(simulator.url) for way in ("next", "previous"))


def test_a_message_id_without_brackets_finds_the_message_alone(simulator: Simulator) -> None:
    send(simulator, **{"h:Message-Id": f"<one@{DOMAIN}>"})
    send(simulator, **{"h:Message-Id": f"<two@{DOMAIN}>"})
    wanted = events(simulator, **{"message-id": f"two@{DOMAIN}", "event": "accepted"})

    assert [event["message"]["headers"]["message-id"] for event in wanted] == [f"two@{DOMAIN}"]


def test_a_message_id_with_brackets_returns_unrelated_events(simulator: Simulator) -> None:
    send(simulator, **{"h:Message-Id": f"<one@{DOMAIN}>"})
    found = events(simulator, **{"message-id": f"<other@{DOMAIN}>", "event": "accepted"})

    assert [event["message"]["headers"]["message-id"] for event in found] == [f"one@{DOMAIN}"]


def test_an_unknown_message_id_finds_nothing(simulator: Simulator) -> None:
    send(simulator)

    assert events(simulator, **{"message-id": "other@x"}) == []


def test_a_message_id_of_each_readers_own_is_found(simulator: Simulator) -> None:
    batch(simulator, 3, **{"h:Message-Id": f"<%recipient.rid%@{DOMAIN}>"})

    found = events(simulator, **{"message-id": f"1@{DOMAIN}", "event": "accepted"})
    assert [event["recipient"] for event in found] == ["person1@example.com"]


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({"recipient": "person1@example.com", "event": "accepted"}, 1),
        ({"tags": "news", "event": "accepted OR delivered"}, 3),
        ({"tags": "other"}, 0),
        ({"event": "failed", "severity": "permanent"}, 1),
        ({"event": "failed", "severity": "temporary"}, 0),
        ({"subject": "hello NOT goodbye", "event": "accepted"}, 3),
    ],
)
def test_filters_narrow(filters: dict[str, Any], count: int) -> None:
    with Simulator(outcomes={"person0@example.com": "bounced"}, pace=0) as simulator:
        batch(simulator, 2, **{"o:tag": "news"})
        send(simulator, "zoe@example.com")

        assert len(events(simulator, **filters)) == count


def test_events_carry_our_variables_as_text(simulator: Simulator) -> None:
    batch(simulator, 2, **{"v:batch": "b1", "o:tag": "c-1"})
    event = events(simulator, event="accepted")[1]

    assert event["user-variables"] == {"rid": "1", "batch": "b1"}
    assert event["tags"] == ["c-1"]
    assert event["message"]["headers"]["to"] == event["recipient"] == "person1@example.com"
    assert event["domain"]["name"] == DOMAIN


def test_the_sending_key_cannot_read(simulator: Simulator) -> None:
    for path in (f"/v3/{DOMAIN}/events", f"/v4/domains/{DOMAIN}", f"/v3/{DOMAIN}/bounces"):
        assert requests.get(simulator.url + path, auth=SENDING, timeout=5).status_code == 403
        assert requests.get(simulator.url + path, timeout=5).status_code == 401


def test_an_event_can_take_its_time_to_become_readable() -> None:
    with Simulator(log_delay=0.4) as simulator:
        send(simulator)
        assert events(simulator, event="accepted") == []
        deadline = time.monotonic() + 5
        while not events(simulator, event="accepted"):
            assert time.monotonic() < deadline


def test_a_late_event_is_missing_between_others_at_first() -> None:
    with Simulator(log_shuffle=3600, pace=0) as simulator:
        batch(simulator, 200)
        simulator.log.clock = lambda: time.time() + 1800
        early = [event["recipient"] for event in events(simulator, event="accepted", limit=300)]
        simulator.log.clock = lambda: time.time() + 4000
        everybody = [event["recipient"] for event in events(simulator, event="accepted", limit=300)]

    assert 50 < len(early) < 150
    assert len(everybody) == 200
    assert early == [address for address in everybody if address in set(early)]


def test_events_do_not_lie_in_the_future(simulator: Simulator) -> None:
    simulator.happenings.pace = 3600
    send(simulator)

    assert [event["event"] for event in events(simulator)] == ["accepted"]


@pytest.mark.parametrize(
    "parameters", [{"begin": "yesterday"}, {"begin": "1790000000"}, {"limit": "x"}, {"limit": "0"}]
)
def test_a_question_that_makes_no_sense_is_refused(simulator: Simulator, parameters: dict[str, str]) -> None:
    response = requests.get(f"{simulator.url}/v3/{DOMAIN}/events", params=parameters, auth=ACCOUNT, timeout=5)

    assert response.status_code == 400


def test_a_range_in_mail_dates_is_understood(simulator: Simulator) -> None:
    send(simulator)
    dates = {"begin": "Mon, 01 Jun 2020 10:00:00 GMT", "end": "Fri, 01 Jan 2100 00:00:00 GMT"}

    assert len(events(simulator, **dates, event="accepted")) == 1
    assert events(simulator, begin=dates["begin"], end="Tue, 02 Jun 2020 10:00:00 GMT") == []


def test_the_same_seed_gives_the_same_events() -> None:
    stories = []
    for seed in (1, 1, 2):
        with Simulator(rates=LIVELY, pace=0, seed=seed) as simulator:
            batch(simulator, 100)
            stories.append([(event["event"], event["recipient"]) for event in events(simulator)])

    assert stories[0] == stories[1] != stories[2]


@pytest.mark.parametrize(
    ("expression", "values", "right"),
    [
        ("a", ["A"], True),
        ("a b", ["a b"], True),
        ("a AND b", ["a"], False),
        ("a OR b", ["b"], True),
        ("NOT a", ["b"], True),
        ("(a OR b) NOT c", ["b"], True),
        ('"a b"', ["x a b y"], True),
        (">10", ["20"], True),
        ("<10", ["20"], False),
        ("<a@b>", ["c@d"], True),
        ("", ["x"], True),
    ],
)
def test_expressions(expression: str, values: list[str], right: bool) -> None:
    assert matches(expression, values) is right
