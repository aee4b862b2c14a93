"""Events by HTTP. They are shown once nothing can come before them any more, so these tests commit."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from campaigns.models import Message
from events.models import Event
from tests.factories import RecipientFactory
from tests.mailkoenig.api.conftest import Caller, caller

pytestmark = pytest.mark.django_db(transaction=True)


def happened(number: int, **about: object) -> Event:
    """Record an event some time ago."""
    return Event.objects.create(
        provider="mailgun",
        provider_event_id=f"e{number}",
        day="2026-11-29",
        event_type="delivered",
        address="ada@example.com",
        raw_payload={},
        occurred_at=Now(),
        received_at=Now() - timedelta(minutes=1),
        **about,
    )


def message(shop: Caller, key: str = "k") -> Message:
    return Message.objects.get(pk=shop.post(idempotency_key=key).json()["id"])


def test_a_token_hears_of_its_own_streams_mail_oldest_first(shop: Caller) -> None:
    mine, recipient = message(shop), RecipientFactory.create()
    first = happened(1, message=mine)
    happened(2, campaign_recipient=recipient)
    happened(3, message_id=10**9)
    last = happened(4, message=mine)

    answer = shop("GET", "events").json()
    campaigner = caller("campaigns")("GET", "events").json()

    assert [item["id"] for item in answer["items"]] == [first.pk, last.pk]
    assert answer["items"][0]["idempotency_key"] == "k"
    assert [item["campaign_id"] for item in campaigner["items"]] == [recipient.campaign_id]
    assert caller("password-resets")("GET", "events").json()["items"] == []


def test_pages_go_on_where_they_ended(shop: Caller) -> None:
    mine = message(shop)
    made = [happened(number, message=mine).pk for number in range(3)]
    first = shop("GET", "events?limit=2").json()
    second = shop("GET", f"events?limit=2&cursor={first['next']}").json()
    third = shop("GET", f"events?limit=2&cursor={second['next']}").json()
    made.append(happened(9, message=mine).pk)
    fourth = shop("GET", f"events?limit=2&cursor={third['next']}").json()

    pages = (first, second, third, fourth)
    assert [item["id"] for page in pages for item in page["items"]] == made
    assert [page["has_more"] for page in pages] == [True, False, False, False]


def test_a_slow_commit_is_not_passed_by(shop: Caller) -> None:
    mine = message(shop)
    written, read = threading.Event(), threading.Event()

    def slow() -> None:
        try:
            with transaction.atomic():
                happened(1, message=mine)
                written.set()
                read.wait(20)
        finally:
            connection.close()

    thread = threading.Thread(target=slow)
    thread.start()
    assert written.wait(20)
    happened(2, message=mine)
    before = shop("GET", "events").json()
    read.set()
    thread.join()
    after = shop("GET", f"events?cursor={before['next']}").json()

    assert before["items"] == []
    assert len(after["items"]) == 2
