from collections import Counter
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db.models.functions import Now

from campaigns import housekeeping, resolver
from campaigns.models import Campaign, Recipient, SendBatch, SenderDomain
from campaigns.sql import jobs, queue
from tests.factories import (
    CampaignFactory,
    ContactFactory,
    ContactListFactory,
    MembershipFactory,
    RecipientFactory,
    SenderDomainFactory,
    SuppressionFactory,
)

pytestmark = pytest.mark.django_db


def leased(people: int = 2, *, attempts: int = 0) -> tuple[Campaign, UUID]:
    """Return a campaign whose people are held by a worker that is gone."""
    campaign = CampaignFactory.create(status="sending")
    RecipientFactory.create_batch(people, campaign=campaign, attempts=attempts)
    batch = uuid4()
    queue.claim(campaign=campaign.pk, batch=batch, worker="gone")
    return campaign, batch


def expire() -> None:
    SendBatch.objects.update(lease_expires_at=Now() - timedelta(seconds=1))


def states() -> dict[str, int]:
    return dict(Counter(Recipient.objects.values_list("status", flat=True)))


def test_a_live_lease_is_left_alone() -> None:
    leased()

    assert not housekeeping.recover()
    assert states() == {"sending": 2}


def test_a_call_that_never_began_makes_its_people_ready_again() -> None:
    leased()
    expire()

    assert housekeeping.recover()
    assert states() == {"pending": 2}
    assert "gone" in Recipient.objects.all()[0].reason


def test_a_call_that_may_have_begun_leaves_its_people_unknown() -> None:
    _, batch = leased()
    queue.start(batch=batch, people=2)
    expire()

    housekeeping.recover()

    assert states() == {"unknown": 2}
    assert SendBatch.objects.get().state == "unknown"


def test_work_that_kills_its_worker_again_and_again_is_given_up() -> None:
    leased(attempts=4)
    expire()

    housekeeping.recover()

    assert states() == {"failed": 2}


def test_a_schedule_that_is_due_starts_and_one_to_come_waits() -> None:
    due = CampaignFactory.create(status="scheduled", scheduled_at=Now() - timedelta(seconds=1))
    later = CampaignFactory.create(status="scheduled", scheduled_at=Now() + timedelta(minutes=1))

    assert housekeeping.activate()

    due.refresh_from_db()
    later.refresh_from_db()
    assert (due.status, later.status) == ("sending", "scheduled")
    assert due.started_at is not None


def test_a_campaign_without_a_domain_takes_the_shared_one_or_pauses() -> None:
    lost = CampaignFactory.create(status="sending", domain=None, from_email="news@example.com")
    housekeeping.activate()
    lost.refresh_from_db()
    assert (lost.status, bool(lost.status_reason)) == ("paused", True)

    shared = SenderDomainFactory.create(is_shared=True)
    Campaign.objects.update(status="sending")
    housekeeping.activate()
    lost.refresh_from_db()
    assert (lost.status, lost.domain) == ("sending", shared)


def test_smaller_batches_end_after_a_day() -> None:
    SenderDomainFactory.create(batch_limit=10, batch_limit_until=Now() - timedelta(seconds=1))
    kept = SenderDomainFactory.create(batch_limit=50)

    housekeeping.activate()

    assert list(SenderDomain.objects.filter(batch_limit__isnull=False)) == [kept]


def test_the_snapshot_takes_each_eligible_person_once_over_all_lists() -> None:
    first, second = ContactListFactory.create_batch(2)
    both = ContactFactory.create()
    for contact_list in (first, second):
        MembershipFactory.create(list=contact_list, contact=both)
        MembershipFactory.create(list=contact_list)
    for status in ("unsubscribed", "bounced", "complained"):
        MembershipFactory.create(list=first, contact=ContactFactory.create(status=status))
    refused = ContactFactory.create()
    MembershipFactory.create(list=second, contact=refused)
    SuppressionFactory.create(address=refused.email)
    MembershipFactory.create()
    campaign = CampaignFactory.create(status="sending", lists=[first, second])

    while housekeeping.take_snapshot(limit=2):
        pass

    taken = Recipient.objects.filter(campaign=campaign)
    assert taken.count() == 3
    assert taken.filter(contact=both).count() == 1
    campaign.refresh_from_db()
    assert campaign.snapshot_finished_at is not None


def test_a_snapshot_that_was_cut_off_goes_on_where_it_was() -> None:
    contact_list = ContactListFactory.create()
    MembershipFactory.create_batch(5, list=contact_list)
    campaign = CampaignFactory.create(status="sending", lists=[contact_list])
    housekeeping.take_snapshot(limit=2)
    assert Recipient.objects.count() == 2

    Campaign.objects.update(status="paused")
    assert not housekeeping.take_snapshot(limit=2)
    Campaign.objects.update(status="sending")
    while housekeeping.take_snapshot(limit=2):
        pass

    assert Recipient.objects.filter(campaign=campaign).values("contact").distinct().count() == 5


@pytest.mark.parametrize("status", ["pending", "unknown"])
def test_a_campaign_is_not_over_while_somebody_is_open(status: str) -> None:
    _, batch = leased(1)
    Campaign.objects.update(snapshot_finished_at=Now())
    if status == "pending":
        jobs.RECIPIENTS.give_back(batch=batch, reason="", after=timedelta(minutes=1), refund=0)
    else:
        queue.start(batch=batch, people=1)
        resolver.note_unknown(batch, jobs.RECIPIENTS, reason="lost")

    assert not housekeeping.complete()


def test_a_campaign_is_over_when_nobody_is_left() -> None:
    _, batch = leased(1)
    jobs.RECIPIENTS.accept(batch=batch, ids=[Recipient.objects.get().pk])
    assert not housekeeping.complete(), "its snapshot is not complete"
    Campaign.objects.update(snapshot_finished_at=Now())

    assert housekeeping.complete()

    campaign = Campaign.objects.get()
    assert (campaign.status, campaign.finished_at is not None) == ("sent", True)


def test_a_schedule_that_nobody_was_there_for_waits_for_a_person() -> None:
    missed = CampaignFactory.create(status="scheduled", scheduled_at=Now() - timedelta(hours=2))

    housekeeping.activate()

    missed.refresh_from_db()
    assert (missed.status, missed.started_at) == ("paused", None)
    assert "resume" in missed.status_reason
