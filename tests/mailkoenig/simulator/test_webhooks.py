"""Webhooks, as the site gets them."""

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import requests

from mailkoenig.simulator import Habits, Rates, Simulator
from tests.mailkoenig.simulator.calls import ACCOUNT, DOMAIN, batch, events, receiving, send

KEY = "mail-koenig-test-signing-key"
EVERY_OUTCOME = {
    "person0@example.com": "bounced",
    "person1@example.com": "deferred",
    "person2@example.com": "clicked",
    "person3@example.com": "unsubscribed",
    "person4@example.com": "complained",
    "person5@example.com": "silent",
}


def test_posts_are_signed() -> None:
    with receiving() as site, Simulator(webhook_url=site.url, signing_key=KEY) as simulator:
        send(simulator)
        assert simulator.drain(10)

    for post in site.posts:
        signature = post["signature"]
        signed = (signature["timestamp"] + signature["token"]).encode()
        assert hmac.new(KEY.encode(), signed, hashlib.sha256).hexdigest() == signature["signature"]
        assert len(signature["token"]) == 50


def test_the_log_holds_the_same_events_as_the_webhooks() -> None:
    rates = Rates(bounced=0.1, opened=0.5, clicked=0.2, complained=0.1)
    with receiving() as site, Simulator(webhook_url=site.url, rates=rates, pace=0) as simulator:
        batch(simulator, 60)
        assert simulator.drain(10)
        logged = {event["id"]: event for event in events(simulator)}

    assert logged == {event["id"]: event for event in site.events}
    assert len(site.events) == len(logged)


def test_each_outcome_tells_its_story() -> None:
    with (
        receiving() as site,
        Simulator(
            webhook_url=site.url, outcomes=EVERY_OUTCOME, habits=Habits(threads=1), pace=0
        ) as simulator,
    ):
        batch(simulator, 6)
        assert simulator.drain(10)

    stories: dict[str, list[str]] = {}
    for event in site.events:
        name = event["severity"] if event["event"] == "failed" else event["event"]
        stories.setdefault(event["recipient"][:7], []).append(name)
    assert stories == {
        "person0": ["accepted", "permanent"],
        "person1": ["accepted", "temporary", "delivered"],
        "person2": ["accepted", "delivered", "opened", "clicked"],
        "person3": ["accepted", "delivered", "unsubscribed"],
        "person4": ["accepted", "delivered", "complained"],
        "person5": ["accepted"],
    }


def test_a_person_clicks_a_link_of_the_mail() -> None:
    html = (
        '<a href="https://mail.example.com/unsubscribe/t/">out</a> '
        '<a href="https://shop.example.com/?u=%recipient.rid%">in</a>'
    )
    with Simulator(outcomes={"person1@example.com": "clicked"}, pace=0) as simulator:
        batch(simulator, 2, html=html)
        clicks = events(simulator, event="clicked")

    assert [click["url"] for click in clicks] == ["https://shop.example.com/?u=1"]
    assert clicks[0]["client-info"]["bot"] == ""


def test_machines_open_too_and_say_so() -> None:
    with Simulator(rates=Rates(opened=1, machine=1), pace=0) as simulator:
        send(simulator)

        assert events(simulator, event="opened")[0]["client-info"]["bot"] == "apple"


def test_without_tracking_nobody_is_seen_to_open_or_click() -> None:
    with Simulator(rates=Rates(opened=1, clicked=1), pace=0) as simulator:
        send(simulator, **{"o:tracking-opens": "no", "o:tracking-clicks": "no"})

        assert {event["event"] for event in events(simulator)} == {"accepted", "delivered"}


@pytest.mark.parametrize(
    ("status", "event", "posts"),
    [
        (200, "accepted", 1),
        (406, "accepted", 1),
        (204, "accepted", 3),
        (500, "accepted", 3),
        (500, "delivered", 1),
    ],
)
def test_what_is_posted_again(status: int, event: str, posts: int) -> None:
    with (
        receiving(lambda got: status if got["event"] == event else 200) as site,
        Simulator(webhook_url=site.url, habits=Habits(retries=(0.05, 0.05)), pace=0) as simulator,
    ):
        send(simulator)
        assert simulator.drain(10)

    assert Counter(got["event"] for got in site.events)[event] == posts


def test_a_site_that_was_away_gets_its_events_later() -> None:
    refused: set[str] = set()

    def once(event: Mapping[str, Any]) -> int:
        known = event["id"] in refused
        refused.add(event["id"])
        return 200 if known else 503

    with (
        receiving(once) as site,
        Simulator(webhook_url=site.url, habits=Habits(retries=(0.05,)), pace=0) as simulator,
    ):
        batch(simulator, 20)
        assert simulator.drain(10)

    assert Counter(got["event"] for got in site.events) == {"accepted": 40, "delivered": 20}


def test_events_can_come_twice_and_out_of_order() -> None:
    habits = Habits(duplicated=1, reordered=0.5, threads=1)
    with receiving() as site, Simulator(webhook_url=site.url, habits=habits, pace=0) as simulator:
        batch(simulator, 30)
        assert simulator.drain(10)

    moments = [event["timestamp"] for event in site.events]
    assert set(Counter(json.dumps(post) for post in site.posts).values()) == {2}
    assert moments != sorted(moments)


def test_a_suppressed_address_is_accepted_and_then_not_tried(simulator: Simulator) -> None:
    url = f"{simulator.url}/v3/{DOMAIN}"
    for kind, address in (
        ("bounces", "person0@example.com"),
        ("unsubscribes", "person1@example.com"),
        ("complaints", "PERSON2@example.com"),
    ):
        requests.post(f"{url}/{kind}", data={"address": address}, auth=ACCOUNT, timeout=5).raise_for_status()
    simulator.happenings.pace = 0

    assert batch(simulator, 4).status_code == 200

    assert [event.get("reason", "") for event in events(simulator, event="failed OR delivered")] == [
        "suppress-bounce",
        "suppress-unsubscribe",
        "suppress-complaint",
        "",
    ]


def test_who_bounced_is_on_the_providers_list_the_next_time() -> None:
    with (
        receiving() as site,
        Simulator(webhook_url=site.url, outcomes={"ada@example.com": "bounced"}, pace=0) as simulator,
    ):
        for _ in range(2):
            send(simulator)
            assert simulator.drain(10)

    assert [event["reason"] for event in site.events if event["event"] == "failed"] == [
        "bounce",
        "suppress-bounce",
    ]


def test_registered_webhooks_get_their_types_alone(simulator: Simulator) -> None:
    simulator.happenings.pace = 0
    url = f"{simulator.url}/v3/domains/{DOMAIN}/webhooks"
    with receiving() as site:
        requests.post(
            url, data={"id": "delivered", "url": site.url}, auth=ACCOUNT, timeout=5
        ).raise_for_status()
        send(simulator)
        assert simulator.drain(10)
        listed = requests.get(url, auth=ACCOUNT, timeout=5).json()["webhooks"]

    assert [event["event"] for event in site.events] == ["delivered"]
    assert (listed["delivered"], listed["opened"]) == ({"urls": [site.url]}, None)


def test_a_webhook_with_a_password_gets_it() -> None:
    with receiving() as site:
        with_password = site.url.replace("http://", "http://user:secret@")
        with Simulator(webhook_url=with_password, pace=0) as simulator:
            send(simulator)
            assert simulator.drain(10)
            assert dict(simulator.poster.answers) == {"200": 2}


def test_payloads_have_the_documented_fields() -> None:
    documented = json.loads((Path(__file__).parent / "documented.json").read_text())
    with Simulator(outcomes=EVERY_OUTCOME, pace=0) as simulator:
        batch(simulator, 6, **{"o:tag": "c-42"})
        found = events(simulator)

    for event in found:
        kind = event.get("severity") or event["event"]
        assert shape(documented[kind]) <= shape(event), kind


def shape(value: Any, path: str = "") -> set[str]:
    """Return the paths of every field in a payload, but for what we choose ourselves."""
    if not isinstance(value, dict) or path == "/user-variables":
        return {path}
    return {path} | {line for name, item in value.items() for line in shape(item, f"{path}/{name}")}
