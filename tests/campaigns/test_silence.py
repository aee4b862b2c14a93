"""A campaign that nothing comes back of is noticed, and the likely cause is named."""

import logging
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.test import Client
from pytest_django.fixtures import Settings

from campaigns import reports, silence
from campaigns.models import Campaign, Recipient, SendBatch
from tests.factories import CampaignFactory, RecipientFactory, SendBatchFactory, SenderDomainFactory

pytestmark = pytest.mark.django_db
USUAL = timedelta(minutes=15)


def accepted(*, minutes: int, campaign: Campaign | None = None) -> SendBatch:
    """Return a batch that was accepted some minutes ago."""
    campaign = campaign or CampaignFactory.create(
        status="sending", domain=SenderDomainFactory.create(name="mg.example.com")
    )
    batch: SendBatch = SendBatchFactory.create(campaign=campaign, state="accepted", size=1)
    RecipientFactory.create(campaign=campaign, batch=batch, status="sent", sent_at=batch.claimed_at)
    SendBatch.objects.filter(pk=batch.pk).update(settled_at=Now() - timedelta(minutes=minutes))
    Recipient.objects.update(sent_at=Now())
    return batch


def silent() -> list[int]:
    return [found.campaign for found in reports.silent_campaigns(after=USUAL)]


def test_after_the_usual_time_without_an_event_a_campaign_is_silent() -> None:
    batch = accepted(minutes=16)

    found = reports.silent_campaigns(after=USUAL)

    assert [(row.campaign, row.domain, row.batches) for row in found] == [
        (batch.campaign_id, "mg.example.com", 1)
    ]


def test_one_event_of_one_batch_is_enough() -> None:
    batch = accepted(minutes=16)
    accepted(minutes=20, campaign=batch.campaign)
    SendBatch.objects.filter(pk=batch.pk).update(evidence_at=Now())

    assert silent() == []


def test_what_was_just_accepted_or_not_at_all_is_not_silent() -> None:
    accepted(minutes=14)
    SendBatch.objects.filter(pk=accepted(minutes=16, campaign=CampaignFactory.create()).pk).update(
        state="unknown", started_at=Now()
    )

    assert silent() == []


def test_old_campaigns_are_only_looked_at_when_asked_for() -> None:
    batch = accepted(minutes=16)
    SendBatch.objects.update(claimed_at=Now() - timedelta(days=3), settled_at=Now() - timedelta(days=3))

    assert silent() == []
    assert reports.silent_campaigns(after=USUAL, campaign=batch.campaign_id)
    assert not reports.silent_campaigns(after=USUAL, campaign=0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ["registered", "mg.example.com", "/webhooks/mailgun/", "worker's log says why"]),
        ({"MAILGUN_WEBHOOK_SIGNING_KEYS": []}, ["MAILGUN_WEBHOOK_SIGNING_KEYS is not set"]),
        ({"MAILGUN_API_KEY": ""}, ["MAILGUN_API_KEY is not set"]),
        ({"EVENTS_POLL_EVERY": 0}, ["EVENTS_POLL_EVERY is 0"]),
    ],
    ids=["all set", "no signing key", "no account key", "log not read"],
)
def test_the_likely_cause_is_named(settings: Settings, change: dict[str, object], words: list[str]) -> None:
    for name, value in change.items():
        setattr(settings, name, value)

    assert all(word in silence.cause("mg.example.com") for word in words)


def test_the_worker_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger=silence.logger.name)
    batch = accepted(minutes=16)
    watch = silence.Watch()

    watch.look()
    watch.look()

    assert [record.campaign for record in caplog.records] == [batch.campaign_id]  # type: ignore[attr-defined]  # an extra


def test_the_campaigns_page_says_it(admin_client: Client) -> None:
    batch = accepted(minutes=16)
    page = f"/admin/campaigns/campaign/{batch.campaign_id}/change/"

    assert "Nothing has come back" in admin_client.get(page).content.decode()

    SendBatch.objects.update(evidence_at=Now())
    assert "Nothing has come back" not in admin_client.get(page).content.decode()
