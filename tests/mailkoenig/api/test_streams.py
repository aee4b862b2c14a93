"""Streams by HTTP."""

import pytest
from django.contrib.admin.models import LogEntry

from campaigns.models import Stream
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
