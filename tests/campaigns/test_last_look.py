"""Who is taken out of a batch between its claim and its call."""

from uuid import UUID, uuid4

import pytest
from django.db.models.functions import Now

from campaigns import services
from campaigns.models import Campaign, Recipient
from campaigns.sql import queue
from mailkoenig.providers.types import EventType, ProviderEvent
from tests.factories import CampaignFactory, RecipientFactory, SuppressionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return CampaignFactory.create(status="sending")


def claimed(campaign: Campaign) -> tuple[UUID, list[Recipient]]:
    """Return a batch of two and its people."""
    RecipientFactory.create_batch(2, campaign=campaign)
    batch = uuid4()
    queue.claim(campaign=campaign.pk, batch=batch, worker="w")
    return batch, list(Recipient.objects.order_by("pk"))


def test_whom_an_event_of_an_earlier_batch_has_moved_on_is_not_called_for_again(campaign: Campaign) -> None:
    batch, (got, other) = claimed(campaign)
    moment = Recipient.objects.annotate(now=Now()).values_list("now", flat=True)[0]
    services.record_event(
        ProviderEvent(
            provider="mailgun",
            domain="mg.example.com",
            event_id="late",
            type=EventType.DELIVERED,
            occurred_at=moment,
            address=got.email,
            payload={},
            batch=uuid4(),
            recipient=got.pk,
        )
    )

    assert queue.skip_ineligible(batch=batch, ids=[got.pk, other.pk]) == {got.pk}
    got.refresh_from_db()
    assert got.status == "delivered"


def test_an_address_that_was_refused_stays_refused_when_its_contact_has_another_now(
    campaign: Campaign,
) -> None:
    batch, (moved, other) = claimed(campaign)
    assert moved.contact is not None
    SuppressionFactory.create(address=moved.email, reason="bounced")
    type(moved.contact).objects.filter(pk=moved.contact.pk).update(email="new@example.com")

    assert queue.skip_ineligible(batch=batch, ids=[moved.pk, other.pk]) == {moved.pk}
    moved.refresh_from_db()
    assert (moved.status, moved.reason) == ("skipped", "suppressed: the address before it was changed")
