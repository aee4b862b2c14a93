"""What the simulator shows in a browser, and to scripts."""

import pytest
import requests

from mailkoenig.simulator import Simulator
from tests.mailkoenig.simulator.calls import DOMAIN, batch, send


def get(simulator: Simulator, path: str) -> requests.Response:
    """Fetch a page."""
    return requests.get(simulator.url + path, timeout=10)


def test_an_empty_page_says_what_to_do(simulator: Simulator) -> None:
    assert f"<code>{simulator.url}</code>" in get(simulator, "/").text


def test_messages_are_listed_newest_first_and_paged(simulator: Simulator) -> None:
    for n in range(52):
        send(simulator, subject=f"Mail {n:02d}")

    first, second = get(simulator, "/").text, get(simulator, "/?page=2").text
    assert first.index("Mail 51") < first.index("Mail 02") and "Mail 01" not in first
    assert "Mail 01" in second and "Page 2 of 2" in second


def test_a_copy_is_shown_as_its_reader_sees_it_and_nothing_in_it_runs(simulator: Simulator) -> None:
    batch(simulator, 2, subject="<script>1</script>", html="<script>alert(1)</script>Dear %recipient.name%")
    page = get(simulator, "/accepted/1/person1@example.com")

    assert "Dear Person 1" in page.text
    assert "<script>" not in page.text
    assert "allow-scripts" not in page.text and "allow-same-origin" not in page.text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/accepted/1", "/accepted/x", "/accepted/1/nobody@example.com"])
def test_what_is_not_there_is_a_page_too(simulator: Simulator, path: str) -> None:
    page = get(simulator, path)

    assert page.status_code == 404
    assert "All messages" in page.text


def test_totals_for_scripts(simulator: Simulator) -> None:
    batch(simulator, 3)
    batch(simulator, 2)
    found = get(simulator, "/simulator/accepted.json").json()

    assert (found["accepted"], found["distinct"], found["duplicates"], found["messages"]) == (5, 3, 2, 2)
    assert found["domains"] == {DOMAIN: 5}


def test_calls_messages_copies_and_duplicates_for_scripts(simulator: Simulator) -> None:
    send(simulator, "nobody")
    batch(simulator, 2)
    batch(simulator, 1)

    calls = get(simulator, "/simulator/calls.json?after=1&limit=1").json()
    assert [(call["status"], call["recipients"], call["message"]) for call in calls] == [(200, 2, 1)]
    assert [item["recipients"] for item in get(simulator, "/simulator/messages.json").json()] == [2, 1]
    copy = get(simulator, "/simulator/messages/1/person1@example.com.json").json()
    assert (copy["to"], copy["variables"]) == ("person1@example.com", {"rid": "1"})
    duplicates = get(simulator, "/simulator/duplicates.json").json()
    assert [(item["address"], item["messages"]) for item in duplicates] == [("person0@example.com", [1, 2])]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_reset_forgets(simulator: Simulator, method: str) -> None:
    batch(simulator, 3)
    assert simulator.tally.distinct() == 3
    requests.request(method, f"{simulator.url}/simulator/reset", timeout=5).raise_for_status()

    assert get(simulator, "/simulator/accepted.json").json()["distinct"] == 0
    batch(simulator, 1)
    assert get(simulator, "/simulator/accepted.json").json()["distinct"] == 1


def test_settings_can_change_while_it_runs(simulator: Simulator) -> None:
    url = f"{simulator.url}/simulator/settings"
    requests.post(
        url, json={"rates": {"opened": 1}, "pace": 0, "latency": [0, 0.01]}, timeout=5
    ).raise_for_status()

    assert simulator.happenings.rates.opened == 1
    refused = requests.post(url, json={"rates": {"opened": 2}}, timeout=5)
    assert (refused.status_code, "between 0 and 1" in refused.text) == (400, True)


@pytest.mark.parametrize("path", ["/simulator/nothing", "/simulator/calls.json?after=x"])
def test_a_wrong_question_is_answered_in_words(simulator: Simulator, path: str) -> None:
    response = get(simulator, path)

    assert response.status_code in (400, 404)
    assert response.json()["message"]
