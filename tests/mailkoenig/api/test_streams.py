"""Streams by HTTP."""

import pytest
from django.contrib.admin.models import LogEntry

from campaigns import services
from campaigns.models import Message, Stream
from tests.mailkoenig.api.conftest import Caller, caller

pytestmark = pytest.mark.django_db


def test_a_token_sees_how_its_streams_stand(shop: Caller) -> None:
    shop.post()
    (found,) = shop("GET", "streams").json()["items"]

    assert {
        "name": "receipts",
        "kind": "transactional",
        "paused": False,
        "unknown": {"mails": 0, "oldest": None},
    }.items() <= found.items()
    assert found["ready"]["mails"] == 1
    assert found == {**shop("GET", "streams/receipts").json(), "ready": found["ready"]}


def test_a_stream_is_paused_with_a_reason_and_resumed(shop: Caller) -> None:
    paused = [shop("POST", "streams/receipts/pause", {"reason": "Wrong logo."}).json() for _ in range(2)]
    resumed = shop("POST", "streams/receipts/resume").json()

    assert [(each["paused"], each["paused_reason"], each["paused_by"]) for each in paused] == [
        (True, "Wrong logo.", "API token shop0")
    ] * 2
    assert not resumed["paused"]
    trail = LogEntry.objects.order_by("id").values_list("user__username", "change_message")
    assert list(trail)[-2:] == [("API token shop0", "Paused: Wrong logo."), ("API token shop0", "Resumed.")]


def test_a_pause_needs_a_reason(shop: Caller) -> None:
    answers = [shop("POST", "streams/receipts/pause", body) for body in ({}, {"reason": ""}, None)]

    assert [answer.status_code for answer in answers] == [422, 422, 422]
    assert not Stream.objects.filter(paused=True).exists()


@pytest.mark.parametrize("name", ["campaigns", "password-resets", "none"])
def test_a_stream_that_is_not_held_is_out_of_reach(shop: Caller, name: str) -> None:
    reader = caller("receipts", can_write=False)
    answers = [
        shop("GET", f"streams/{name}"),
        shop("POST", f"streams/{name}/pause", {"reason": "x"}),
        shop("POST", f"streams/{name}/resume"),
    ]

    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert reader("POST", "streams/receipts/pause", {"reason": "x"}).status_code == 403
    assert not Stream.objects.filter(paused=True).exists()


def test_limits_are_set_and_what_is_left_out_stays(shop: Caller) -> None:
    first = shop("PATCH", "streams/receipts", {"concurrency": 1, "rate_per_minute": 60}).json()
    then = shop("PATCH", "streams/receipts", {"rate_per_minute": None}).json()

    assert (first["concurrency"], first["rate_per_minute"]) == (1, 60)
    assert (then["concurrency"], then["rate_per_minute"]) == (1, None)
    assert shop("PATCH", "streams/receipts", {"concurrency": 0}).status_code == 422


def test_a_stream_that_is_drained_refuses_new_mail_until_it_takes_it_again(shop: Caller) -> None:
    assert shop("POST", "streams/receipts/drain").json()["draining"]
    refused = shop.post()
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (503, "stream")

    assert not shop("POST", "streams/receipts/undrain").json()["draining"]
    assert shop.post().status_code == 201


def test_dead_letters_are_requeued_and_ready_mail_is_taken_back_only_of_the_stream(shop: Caller) -> None:
    ids = [shop.post(idempotency_key=f"order-{n}").json()["id"] for n in range(3)]
    other = services.enqueue_message(
        stream="password-resets", idempotency_key="reset", to="ada@example.com", subject="Reset", text="-"
    ).message
    Message.objects.filter(pk__in=[*ids[:2], other.pk]).update(status="failed", reason="400: no")

    chosen = shop("POST", "streams/receipts/requeue", {"ids": [ids[0], other.pk]}).json()
    rest = shop("POST", "streams/receipts/requeue", {"reason": "The provider is back."}).json()
    taken_back = shop("POST", "streams/receipts/cancel", {}).json()

    assert (chosen, rest, taken_back) == ({"messages": 1}, {"messages": 1}, {"messages": 3})
    other.refresh_from_db()
    assert other.status == "failed"
    assert set(Message.objects.filter(pk__in=ids).values_list("status", flat=True)) == {"cancelled"}


def test_levers_need_the_right_to_write() -> None:
    reader = caller("receipts", can_write=False)

    for method, path in [
        ("PATCH", ""),
        ("POST", "/drain"),
        ("POST", "/undrain"),
        ("POST", "/requeue"),
        ("POST", "/cancel"),
    ]:
        assert reader(method, f"streams/receipts{path}", {}).status_code == 403
