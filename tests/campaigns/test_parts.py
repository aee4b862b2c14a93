"""A batch that is sent in several calls: its parts are held while they wait, and given back when the worker stops."""

from collections import Counter
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models.functions import Now

from campaigns import housekeeping
from campaigns.delivery import Delivery
from campaigns.models import Campaign, Recipient, SendBatch, SenderDomain
from campaigns.sql import queue
from mailkoenig.providers.mailgun.client import MailgunClient
from mailkoenig.simulator.server import Simulator
from tests.factories import CampaignFactory, ContactFactory, RecipientFactory, SenderDomainFactory
from tests.turns import turn_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    """A campaign to four people who each have so much to tell that they go alone."""
    domain = SenderDomainFactory.create(name="mg.example.com")
    campaign: Campaign = CampaignFactory.create(status="sending", body="Hello {{ story }}", domain=domain)
    for _ in range(4):
        contact = ContactFactory.create(attributes={"story": "y" * 20_000})
        RecipientFactory.create(campaign=campaign, contact=contact)
    return campaign


def states() -> dict[str, int]:
    return dict(Counter(Recipient.objects.values_list("status", flat=True)))


def test_a_worker_that_is_to_stop_gives_back_the_parts_that_it_has_not_begun(
    campaign: Campaign, simulator: Simulator
) -> None:
    client = MailgunClient()
    delivery = Delivery(
        provider=client,
        worker="w1",
        persist=lambda write: write(),
        is_stopping=lambda: bool(simulator.calls),
    )

    delivery.send_one(turn_of(campaign))
    client.close()

    assert states() == {"sent": 1, "pending": 3}
    left = Recipient.objects.filter(status="pending", batch=None)
    assert list(left.values_list("attempts", flat=True)) == [0, 0, 0]
    assert not SendBatch.objects.filter(state="leased").exists()


def test_what_waits_for_its_turn_is_held_anew(campaign: Campaign) -> None:
    waiting = uuid4()
    queue.claim(campaign=campaign.pk, batch=waiting, worker="w1")
    SendBatch.objects.update(lease_expires_at=Now() - timedelta(seconds=1))

    assert queue.renew([waiting]) == 1
    assert not housekeeping.recover()
    assert states() == {"sending": 4}


def test_a_worker_that_stops_before_a_call_makes_nobody_wait(
    campaign: Campaign, simulator: Simulator
) -> None:
    client = MailgunClient()
    client.close()

    Delivery(provider=client, worker="w1", persist=lambda write: write()).send_one(turn_of(campaign))

    domain = SenderDomain.objects.get()
    assert (domain.held_until, domain.throttles, simulator.calls) == (None, 0, [])
    assert states() == {"pending": 4}
    assert set(Recipient.objects.values_list("attempts", flat=True)) == {0}
