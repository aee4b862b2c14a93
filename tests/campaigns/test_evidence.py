"""What is known late, and what happens again and again, comes to its end."""

from collections import Counter
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.db.models.functions import Now

from campaigns import housekeeping, reports, resolver, services
from campaigns.delivery import Delivery
from campaigns.models import Campaign, Recipient, SendBatch, SenderDomain, SentMessage
from campaigns.sql import queue
from mailkoenig.lib import db
from mailkoenig.providers.mailgun.client import MailgunClient
from mailkoenig.providers.types import EventType, Finding, ProviderEvent, Verdict
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.server import Simulator
from tests.factories import CampaignFactory, RecipientFactory
from tests.turns import turn_of

pytestmark = pytest.mark.django_db


class Log:
    """A provider's log that always says the same."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    def ask(self, **question: object) -> Finding:
        return Finding(self.verdict, "The log was asked.")


@pytest.fixture
def campaign() -> Campaign:
    return CampaignFactory.create(status="sending")


def begin(campaign: Campaign) -> UUID:
    """Let a worker begin a call for everybody who is ready, and never be heard of again."""
    Recipient.objects.filter(status="pending").update(next_attempt_at=Now())
    batch = uuid4()
    people = queue.claim(campaign=campaign.pk, batch=batch, worker="gone")
    with transaction.atomic():
        queue.start(batch=batch, people=len(people))
    SendBatch.objects.filter(pk=batch).update(lease_expires_at=Now() - timedelta(seconds=1))
    housekeeping.recover()
    return batch


def ask_to_the_end(verdict: Verdict, *, call_began: timedelta = timedelta(hours=1)) -> None:
    unclear = SendBatch.objects.filter(state="unknown")
    unclear.update(started_at=Now() - call_began)
    for _ in range(len(resolver.waits())):
        unclear.update(next_ask_at=Now())
        resolver.turn(Log(verdict))


def states() -> dict[str, int]:
    return dict(Counter(Recipient.objects.values_list("status", flat=True)))


def delivered(person: Recipient, batch: UUID) -> None:
    services.record_event(
        ProviderEvent(
            provider="mailgun",
            domain="mg.example.com",
            event_id=uuid4().hex,
            type=EventType.DELIVERED,
            occurred_at=db.now(),
            address=person.email,
            payload={},
            batch=batch,
            recipient=person.pk,
        )
    )


def test_mail_whose_workers_die_during_the_call_is_given_up_with_the_reason(campaign: Campaign) -> None:
    RecipientFactory.create(campaign=campaign)

    for _ in range(5):
        begin(campaign)
        ask_to_the_end(Verdict.ABSENT)

    person = Recipient.objects.get()
    assert (person.status, person.attempts) == ("failed", 5)
    assert "Worker gone stopped during the call." in person.reason


def test_a_call_of_a_worker_that_may_be_alive_is_not_made_again(campaign: Campaign) -> None:
    RecipientFactory.create(campaign=campaign)
    begin(campaign)

    ask_to_the_end(Verdict.ABSENT, call_began=timedelta(seconds=30))
    assert states() == {"unknown": 1}
    assert SendBatch.objects.filter(next_ask_at__gt=Now() + timedelta(seconds=30)).exists()

    ask_to_the_end(Verdict.ABSENT, call_began=timedelta(seconds=90))
    assert states() == {"pending": 1}


def test_proof_that_comes_late_spares_everybody_of_the_batch_the_second_mail(campaign: Campaign) -> None:
    first, second, third = RecipientFactory.create_batch(3, campaign=campaign)
    lost = begin(campaign)
    ask_to_the_end(Verdict.NO_ANSWER)
    assert states() == {"pending": 3}
    again = uuid4()
    queue.claim(campaign=campaign.pk, batch=again, worker="w2")

    delivered(first, lost)

    people = [first.pk, second.pk, third.pk]
    assert queue.skip_ineligible(batch=again, ids=people) == set(people)
    assert states() == {"delivered": 1, "sent": 2}
    assert SentMessage.objects.filter(batch_id=lost).count() == 3
    assert [person.id for person in reports.at_risk(campaign.pk)] == [first.pk]


def test_who_is_proven_to_have_got_it_before_it_is_sent_again_is_not_at_risk(campaign: Campaign) -> None:
    person = RecipientFactory.create(campaign=campaign)
    lost = begin(campaign)
    ask_to_the_end(Verdict.NO_ANSWER)
    assert reports.at_risk(campaign.pk)

    delivered(person, lost)

    assert not reports.at_risk(campaign.pk)


def test_who_was_given_up_and_got_it_after_all_is_delivered(campaign: Campaign) -> None:
    person = RecipientFactory.create(campaign=campaign, status="failed", reason="Nobody knows.")

    delivered(person, uuid4())

    person.refresh_from_db()
    assert (person.status, person.reason) == ("delivered", "")


def test_a_provider_that_answers_unclearly_again_and_again_is_left_alone_for_a_while(
    campaign: Campaign, simulator: Simulator
) -> None:
    simulator.fault(Fault("error", times=None))
    client = MailgunClient()
    delivery = Delivery(provider=client, worker="w1", persist=lambda write: write(), random=lambda: 0.0)

    for _ in range(3):
        RecipientFactory.create(campaign=campaign)
        delivery.send_one(turn_of(campaign))
    client.close()

    domain = SenderDomain.objects.get()
    assert domain.held_until is not None
    assert timedelta(seconds=1) < domain.held_until - db.now() <= timedelta(seconds=5)
    assert (len(simulator.calls), states()) == (2, {"unknown": 2, "pending": 1})
