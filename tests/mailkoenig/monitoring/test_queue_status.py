import json
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from pytest_django.fixtures import Settings

from campaigns import resolver
from campaigns.models import Installation, SenderDomain
from campaigns.sql import jobs, queue
from tests.factories import CampaignFactory, RecipientFactory

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
