import json
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django.fixtures import Settings

from campaigns import resolver, services
from campaigns.models import Campaign, Installation, Message, SendBatch, SenderDomain, Stream
from campaigns.sql import jobs, messages, queue, tallies, workers
from tests.factories import CampaignFactory, RecipientFactory, SenderDomainFactory

pytestmark = pytest.mark.django_db


def status(*arguments: str) -> str:
    out = StringIO()
    call_command("queue_status", *arguments, stdout=out)
    return out.getvalue()


def test_every_state_is_counted_where_it_stands() -> None:
    campaign = CampaignFactory.create(status="sending")
    RecipientFactory.create_batch(2, campaign=campaign)
    batch = uuid4()
    queue.claim(campaign=campaign.pk, batch=batch, worker="w")
    queue.start(batch=batch, people=2)
    resolver.note_unknown(batch, jobs.RECIPIENTS, reason="lost")
    RecipientFactory.create(campaign=campaign, next_attempt_at=Now() - timedelta(minutes=5))

    found: dict[str, Any] = json.loads(status("--json"))

    (shown,) = found["campaigns"]
    assert (shown["ready"], shown["leased"], shown["unknown"]) == (1, 0, 2)
    assert 299 < shown["oldest_ready"] < 400
    assert {stream["name"]: stream["unclear_batches"] for stream in found["streams"]}["campaigns"] == 1
    assert "5 min" in status()


def test_what_it_waits_for_is_said() -> None:
    campaign = CampaignFactory.create(status="sending")
    RecipientFactory.create(campaign=campaign)
    SenderDomain.objects.update(held_until=Now() + timedelta(minutes=1), held_reason="429: slow down")

    assert "429: slow down until" in status()


def test_an_idle_queue_says_what_to_do() -> None:
    assert "campaign send" in status()


def test_a_hold_and_a_missing_key_come_first(settings: Settings) -> None:
    settings.MAILGUN_API_KEY = ""
    Installation.objects.create(server="x", held_reason="It was restored.")

    lines = status().splitlines()

    assert "It was restored." in lines[0]
    assert "MAILGUN_API_KEY" in lines[1]


def receipt(**changes: Any) -> services.Enqueued:
    """Enqueue a receipt."""
    return services.enqueue_message(
        **{
            "stream": "receipts",
            "idempotency_key": "order-1:receipt:v1",
            "to": "ada@example.com",
            "subject": "Your receipt",
            "text": "Thank you",
            **changes,
        }
    )


def receipts() -> dict[str, Any]:
    """Return how the stream of receipts stands."""
    found: list[dict[str, Any]] = json.loads(status("--json"))["streams"]
    return next(stream for stream in found if stream["name"] == "receipts")


def test_a_stream_shows_its_four_states_with_the_age_of_the_oldest() -> None:
    domain = SenderDomainFactory.create(is_shared=True)
    stream = Stream.objects.get(name="receipts")
    for number in range(4):
        receipt(idempotency_key=f"order-{number}:receipt:v1")
    leased, called = uuid4(), uuid4()
    messages.claim(stream=stream.pk, domain=domain.pk, batch=leased, worker="w", most=1)
    messages.claim(stream=stream.pk, domain=domain.pk, batch=called, worker="w", most=1)
    queue.start(batch=called, people=1)
    SendBatch.objects.filter(pk=leased).update(claimed_at=Now() - timedelta(seconds=30))
    SendBatch.objects.filter(pk=called).update(started_at=Now() - timedelta(seconds=20))
    Message.objects.filter(status="pending").update(due_at=Now() - timedelta(seconds=200))
    tallies.count("answer:200", stream="receipts", times=7, mails=7)

    shown = receipts()

    states = shown["states"]
    assert [states[name]["count"] for name in ("ready", "leased", "accepted", "settled")] == [2, 1, 1, 7]
    assert [round(states[name]["oldest"], -1) for name in ("ready", "leased", "accepted")] == [200, 30, 20]
    assert shown["answers"] == {"200": 7}
    assert shown["completions_per_minute"] >= 7


def test_another_try_does_not_make_a_mail_younger_and_a_time_to_come_not_older() -> None:
    SenderDomainFactory.create(is_shared=True)
    receipt()
    receipt(idempotency_key="order-2", send_at=timezone.now() + timedelta(hours=1))
    Message.objects.filter(idempotency_key="order-1:receipt:v1").update(
        due_at=Now() - timedelta(minutes=4), next_attempt_at=Now() + timedelta(minutes=1)
    )

    shown = receipts()

    assert (shown["ready"], shown["later"], round(shown["oldest_ready"])) == (0, 2, 240)


def test_a_resumed_campaign_is_as_old_as_its_resumption() -> None:
    campaign = CampaignFactory.create(status="sending", started_at=Now() - timedelta(hours=3))
    RecipientFactory.create(campaign=campaign, next_attempt_at=Now() + timedelta(minutes=1))

    def age() -> int:
        seconds: float = json.loads(status("--json"))["streams"][0]["oldest_ready"]
        return round(seconds)

    assert age() == 3 * 3600
    Campaign.objects.update(resumed_at=Now() - timedelta(minutes=1))
    assert age() == 60


def test_workers_say_what_they_do_and_waits_and_dead_letters_are_shown() -> None:
    SenderDomainFactory.create(is_shared=True)
    receipt()
    Message.objects.update(status="failed", reason="550 no such user")
    Stream.objects.filter(name="receipts").update(paused=True, paused_reason="Wrong prices", paused_by="ada")
    workers.beat(
        id=uuid4(), name="host-1", streams=["receipts"], doing={"calls": {"receipts": 2}, "woken": True}
    )

    shown = status()

    assert "2 calls for receipts" in shown
    assert "receipts waits: Paused by ada: Wrong prices" in shown
    assert "receipts: 1 dead letter" in shown
    assert receipts()["workers"] == 1


def test_the_table_fits_a_hundred_columns() -> None:
    CampaignFactory.create(status="paused", name="n" * 200, status_reason="word " * 60)
    workers.beat(id=uuid4(), name="host-" * 30, streams=["receipts", "password-resets"], doing={})
    Stream.objects.create(name="s" * 50, paused=True, paused_reason="x" * 200)
    tallies.count("answer:200", stream="receipts", times=70_000_000, mails=70_000_000)

    assert max(map(len, status().splitlines())) <= 100


def test_an_empty_site_says_that_no_worker_was_seen() -> None:
    assert "No worker has been seen: start run_sender." in status()
