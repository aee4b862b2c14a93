"""The statements of the queue, one by one, on real rows."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from campaigns.models import Campaign, Recipient, SendBatch, SenderDomain, Stream
from campaigns.sql import jobs, queue
from tests.factories import CampaignFactory, ContactFactory, RecipientFactory, SuppressionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return CampaignFactory.create(status="sending")


def lease(campaign: Campaign, *, people: int = 0, worker: str = "w1") -> tuple[UUID, list[queue.Claim]]:
    RecipientFactory.create_batch(people, campaign=campaign)
    batch = uuid4()
    return batch, queue.claim(campaign=campaign.pk, batch=batch, worker=worker)


def states(campaign: Campaign) -> list[str]:
    return sorted(Recipient.objects.filter(campaign=campaign).values_list("status", flat=True))


def test_claim_leases_no_more_than_the_batch_size_whatever_the_plan(
    campaign: Campaign, no_joins: None
) -> None:
    Stream.objects.filter(name="campaigns").update(batch_size=50)
    RecipientFactory.create_batch(120, campaign=campaign)

    claimed = queue.claim(campaign=campaign.pk, batch=uuid4(), worker="w1")

    assert len(claimed) == 50
    assert Recipient.objects.filter(status="sending").count() == 50


def test_claim_notes_who_holds_what_and_counts_the_attempt(campaign: Campaign) -> None:
    batch, claimed = lease(campaign, people=2)

    held = Recipient.objects.get(pk=claimed[0].id)
    assert (held.batch_id, held.locked_by, held.attempts) == (batch, "w1", 1)
    assert SendBatch.objects.get(pk=batch).size == 2
    assert claimed[0].unsubscribe_token == held.contact.unsubscribe_token  # type: ignore[union-attr]


def test_claim_takes_nothing_before_its_time_of_another_campaign_or_twice(campaign: Campaign) -> None:
    RecipientFactory.create(campaign=campaign, next_attempt_at=Now() + timedelta(minutes=1))
    RecipientFactory.create()
    _, first = lease(campaign, people=3)

    _, second = lease(campaign)

    assert (len(first), second) == (3, [])


def test_claim_of_nobody_leaves_no_batch_behind(campaign: Campaign) -> None:
    assert lease(campaign)[1] == []
    assert not SendBatch.objects.exists()


@pytest.mark.parametrize("stop", ["campaign", "domain", "stream", "held", "probe"])
def test_claim_takes_nobody_while_something_is_stopped(campaign: Campaign, stop: str) -> None:
    RecipientFactory.create_batch(2, campaign=campaign)
    domains = SenderDomain.objects.filter(campaigns=campaign)
    match stop:
        case "campaign":
            Campaign.objects.update(status="paused")
        case "domain":
            domains.update(status="paused")
        case "stream":
            Stream.objects.update(paused=True)
        case "held":
            domains.update(held_until=Now() + timedelta(minutes=1))
        case "probe":
            domains.update(held_until=Now(), probe_until=Now() + timedelta(minutes=1))

    assert queue.ready() == []
    assert queue.claim(campaign=campaign.pk, batch=uuid4(), worker="w1") == []
    assert states(campaign) == ["pending", "pending"]


def test_a_domain_limit_makes_batches_smaller(campaign: Campaign) -> None:
    SenderDomain.objects.update(batch_limit=2)

    assert len(lease(campaign, people=5)[1]) == 2


def test_only_one_probe_goes_first_after_a_wait(campaign: Campaign) -> None:
    SenderDomain.objects.update(held_until=Now() - timedelta(seconds=1))

    taken = [queue.probe(domain=campaign.domain_id or 0, wait=timedelta(minutes=1)) for _ in range(3)]

    assert taken == [True, False, False]


def test_no_probe_without_a_wait(campaign: Campaign) -> None:
    assert not queue.probe(domain=campaign.domain_id or 0, wait=timedelta(minutes=1))


def test_start_marks_the_batch_in_flight_once(campaign: Campaign) -> None:
    batch, _ = lease(campaign, people=1)

    assert [queue.start(batch=batch, people=1), queue.start(batch=batch, people=1)] == [True, False]
    assert SendBatch.objects.get(pk=batch).state == "in_flight"


def test_start_is_refused_once_the_campaign_is_paused(campaign: Campaign) -> None:
    batch, _ = lease(campaign, people=1)
    Campaign.objects.update(status="paused")

    assert not queue.start(batch=batch, people=1)


def test_who_left_meanwhile_is_skipped_with_the_reason(campaign: Campaign) -> None:
    contacts = [ContactFactory.create() for _ in range(4)]
    for contact in contacts:
        RecipientFactory.create(campaign=campaign, contact=contact)
    batch, claimed = lease(campaign)
    contacts[0].__class__.objects.filter(pk=contacts[0].pk).update(status="unsubscribed")
    SuppressionFactory.create(address=contacts[1].email, reason="manual")
    contacts[2].delete()

    gone = queue.skip_ineligible(batch=batch, ids=[person.id for person in claimed])

    assert len(gone) == 3
    reasons = Recipient.objects.filter(status="skipped").order_by("id").values_list("reason", flat=True)
    assert list(reasons) == ["unsubscribed", "suppressed: manual", "The contact was deleted."]


def test_accept_leaves_what_another_batch_holds(campaign: Campaign) -> None:
    batch, claimed = lease(campaign, people=2)
    ids = [person.id for person in claimed]
    jobs.RECIPIENTS.give_back(batch=batch, reason="lost", after=timedelta(0), refund=0)
    lease(campaign, worker="w2")

    assert jobs.RECIPIENTS.accept(batch=batch, ids=ids) == 0
    assert states(campaign) == ["sending", "sending"]


def test_accept_keeps_what_an_event_has_already_reported(campaign: Campaign) -> None:
    batch, claimed = lease(campaign, people=2)
    Recipient.objects.filter(pk=claimed[0].id).update(status="delivered", locked_at=None, locked_by=None)

    accepted = jobs.RECIPIENTS.accept(batch=batch, ids=[person.id for person in claimed])

    assert accepted == 2
    assert states(campaign) == ["delivered", "sent"]


def test_give_back_refunds_the_attempt_where_the_fault_is_not_theirs(campaign: Campaign) -> None:
    batch, _ = lease(campaign, people=1)

    jobs.RECIPIENTS.give_back(batch=batch, reason="429", after=timedelta(minutes=1), refund=1)

    back = Recipient.objects.get()
    assert (back.status, back.attempts, back.reason, back.batch_id) == ("pending", 0, "429", None)
    assert lease(campaign)[1] == []


def test_give_back_fails_who_is_out_of_attempts(campaign: Campaign) -> None:
    RecipientFactory.create(campaign=campaign, attempts=4)
    batch, _ = lease(campaign)

    jobs.RECIPIENTS.give_back(batch=batch, reason="the worker died", after=timedelta(0), refund=0)

    assert Recipient.objects.get().status == "failed"


def test_split_keeps_everybody_in_exactly_one_batch(campaign: Campaign) -> None:
    batch, claimed = lease(campaign, people=5)
    ids = [person.id for person in claimed]
    left, right = uuid4(), uuid4()

    moved = jobs.RECIPIENTS.split_off(batch=batch, part=left, ids=ids[:2]) + jobs.RECIPIENTS.split_off(
        batch=batch, part=right, ids=ids[2:]
    )

    assert moved == 5
    assert Recipient.objects.filter(batch=left).count() == 2
    assert Recipient.objects.filter(batch=right, attempts=1, status="sending").count() == 3
    assert SendBatch.objects.get(pk=right).size == 3


@pytest.mark.parametrize(
    ("fields", "constraint"),
    [
        ({"status": "sending"}, "recipient_leased_only_while_sending"),
        ({"status": "pending", "locked_by": "w"}, "recipient_leased_only_while_sending"),
        ({"status": "unknown"}, "recipient_unknown_names_its_batch"),
        ({"status": "failed"}, "recipient_failed_or_skipped_says_why"),
        ({"status": "gone"}, "recipient_status_is_known"),
    ],
)
def test_the_schema_refuses_what_must_never_be(fields: dict[str, str], constraint: str) -> None:
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        RecipientFactory.create(**fields)


def test_a_contact_gets_a_campaign_once(campaign: Campaign) -> None:
    first = RecipientFactory.create(campaign=campaign)

    with pytest.raises(IntegrityError, match="recipient_once_per_campaign"), transaction.atomic():
        RecipientFactory.create(campaign=campaign, contact=first.contact)
