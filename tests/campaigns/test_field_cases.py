"""Faults that people reported on other systems, while a campaign is on its way."""

from collections import Counter
from collections.abc import Iterator

import pytest
from django.db.models.functions import Now

from campaigns import housekeeping, services
from campaigns.delivery import Delivery
from campaigns.models import Campaign, ContentVersion, Recipient, SendBatch, Stream
from contacts.models import Contact, Suppression
from contacts.services import suppress, unsubscribe
from mailkoenig.providers.mailgun.client import MailgunClient
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.server import Simulator
from tests.factories import CampaignFactory, ContactListFactory, MembershipFactory, SenderDomainFactory
from tests.turns import turn_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def delivery(simulator: Simulator) -> Iterator[Delivery]:
    client = MailgunClient()
    yield Delivery(provider=client, worker="w1", persist=lambda write: write())
    client.close()


@pytest.fixture
def campaign() -> Campaign:
    """A campaign to 60 people in batches of 10 that has begun."""
    Stream.objects.filter(name="campaigns").update(batch_size=10)
    audience = ContactListFactory.create()
    MembershipFactory.create_batch(60, list=audience)
    campaign: Campaign = CampaignFactory.create(
        status="sending", lists=[audience], domain=SenderDomainFactory.create(name="mg.example.com")
    )
    while housekeeping.take_snapshot():
        pass
    return campaign


def drain(campaign: Campaign, delivery: Delivery) -> None:
    while delivery.send_one(turn_of(campaign)):
        pass
    housekeeping.complete()
    campaign.refresh_from_db()


def states(campaign: Campaign) -> dict[str, int]:
    return dict(Counter(Recipient.objects.filter(campaign=campaign).values_list("status", flat=True)))


def test_who_leaves_while_it_runs_is_in_no_later_call(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    delivery.send_one(turn_of(campaign))
    waiting = list(Recipient.objects.filter(status="pending").order_by("id"))
    left, bounced, complained, retried = waiting[3], waiting[14], waiting[25], waiting[0]
    simulator.fault(Fault("rate_limit", status=429, seconds=0.01))
    delivery.send_one(turn_of(campaign))
    for person in (left, retried):
        assert person.contact is not None
        unsubscribe(person.contact.unsubscribe_token, source="link")
    for person, reason in (
        (bounced, Suppression.Reason.BOUNCED),
        (complained, Suppression.Reason.COMPLAINED),
    ):
        suppress(address=person.email, reason=reason, scope=Suppression.Scope.ALL, source="webhook")
    assert campaign.domain is not None
    services.resume_domain(campaign.domain)
    Recipient.objects.filter(status="pending").update(next_attempt_at=Now())

    drain(campaign, delivery)

    gone = {person.email for person in (left, bounced, complained, retried)}
    assert gone.isdisjoint(simulator.accepted_addresses())
    assert states(campaign) == {"sent": 56, "skipped": 4}
    assert set(Recipient.objects.filter(status="skipped").values_list("reason", flat=True)) == {
        "unsubscribed",
        "bounced",
        "complained",
    }


def test_a_pause_stops_and_a_resume_repeats_nobody(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    delivery.send_one(turn_of(campaign))
    services.pause(campaign)
    assert not delivery.send_one(turn_of(campaign))

    services.resume(campaign)
    drain(campaign, delivery)

    assert campaign.status == "sent"
    assert len(simulator.accepted_addresses()) == len(set(simulator.accepted_addresses())) == 60


def test_a_cancelled_campaign_stays_cancelled_and_adds_up(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    for _ in range(2):
        delivery.send_one(turn_of(campaign))
    services.cancel(campaign)

    drain(campaign, delivery)

    assert (campaign.status, states(campaign)) == ("cancelled", {"sent": 20, "pending": 40})
    with pytest.raises(services.NotSendable, match="cancelled"):
        services.resume(campaign)


def test_each_mail_is_wholly_one_version_and_the_batch_says_which(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    for _ in range(2):
        delivery.send_one(turn_of(campaign))
    Campaign.objects.update(subject="Mended", body="Mended for {{ name }}")
    drain(campaign, delivery)

    assert len(set(simulator.accepted_addresses())) == 60
    for copy in simulator.copies():
        version = SendBatch.objects.get(pk=copy.variables["batch"]).version
        assert version is not None
        assert (copy.subject == "Mended") == ("Mended for" in copy.text) == (version.subject == "Mended")
    assert ContentVersion.objects.filter(campaign=campaign).count() == 2
    assert Counter(copy.subject == "Mended" for copy in simulator.copies()) == {False: 20, True: 40}


def test_an_edit_that_breaks_the_mail_stops_it_before_the_next_call(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    delivery.send_one(turn_of(campaign))
    Campaign.objects.update(body="Hello {% if name %}")

    drain(campaign, delivery)

    assert (campaign.status, len(simulator.calls)) == ("paused", 1)
    assert states(campaign) == {"sent": 10, "pending": 50}


def test_a_contact_that_is_deleted_on_the_way_is_skipped_with_the_reason(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    delivery.send_one(turn_of(campaign))
    gone = Recipient.objects.filter(status="pending")[0]
    Contact.objects.filter(email=gone.email).delete()

    drain(campaign, delivery)

    gone.refresh_from_db()
    assert (gone.status, campaign.status) == ("skipped", "sent")
    assert "deleted" in gone.reason
