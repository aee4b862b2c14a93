"""Races that are run, not argued: threads with their own connections, let go at the same moment."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from campaigns import housekeeping, resolver, services
from campaigns.models import Campaign, Recipient, SendBatch, Stream
from campaigns.sql import jobs, queue
from mailkoenig.providers.types import EventType, ProviderEvent
from tests.factories import (
    CampaignFactory,
    ContactListFactory,
    MembershipFactory,
    RecipientFactory,
    SenderDomainFactory,
)

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*functions: Callable[[], Any]) -> list[Any]:
    """Run functions in threads that start together; return what each returned, or the error it raised."""
    barrier = threading.Barrier(len(functions))
    results: list[Any] = [None] * len(functions)

    def run(number: int, function: Callable[[], Any]) -> None:
        try:
            barrier.wait(10)
            results[number] = function()
        except Exception as error:
            results[number] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(n, function)) for n, function in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def claim(campaign: Campaign, worker: str) -> list[int]:
    return [person.id for person in queue.claim(campaign=campaign.pk, batch=uuid4(), worker=worker)]


def test_claimers_at_the_same_moment_share_nobody() -> None:
    Stream.objects.update(batch_size=20)
    campaign = CampaignFactory.create(status="sending")
    RecipientFactory.create_batch(100, campaign=campaign)

    taken = at_once(*(lambda n=n: claim(campaign, f"w{n}") for n in range(4)))

    people = [person for claimed in taken for person in claimed]
    assert len(people) == len(set(people)) == Recipient.objects.filter(status="sending").count()
    assert all(len(claimed) <= 20 for claimed in taken)


def test_workers_that_recover_at_once_count_a_lost_attempt_once() -> None:
    campaign = CampaignFactory.create(status="sending")
    RecipientFactory.create_batch(10, campaign=campaign)
    claim(campaign, "gone")
    SendBatch.objects.update(lease_expires_at=Now() - timedelta(seconds=1))

    at_once(*[housekeeping.recover] * 4)

    assert set(Recipient.objects.values_list("status", "attempts")) == {("pending", 1)}


def test_a_settle_against_a_recovery_ends_in_one_of_the_two() -> None:
    for _ in range(5):
        campaign = CampaignFactory.create(status="sending")
        RecipientFactory.create_batch(20, campaign=campaign)
        batch = uuid4()
        people = [person.id for person in queue.claim(campaign=campaign.pk, batch=batch, worker="slow")]
        queue.start(batch=batch, people=20)
        SendBatch.objects.update(lease_expires_at=Now() - timedelta(seconds=1))

        results = at_once(lambda: settle(batch, people), housekeeping.recover)  # noqa: B023 - runs within the turn

        assert not [result for result in results if isinstance(result, Exception)]
        found = set(Recipient.objects.filter(campaign=campaign).values_list("status", flat=True))
        assert found in ({"sent"}, {"unknown"})


def settle(batch: UUID, people: list[int]) -> None:
    with transaction.atomic():
        if queue.lock(batch) == "in_flight":
            jobs.RECIPIENTS.accept(batch=batch, ids=people)
            queue.close(batch=batch, state="accepted", accepted=len(people))


def test_events_against_the_settle_lose_nothing_and_do_not_deadlock() -> None:
    campaign = CampaignFactory.create(status="sending")
    RecipientFactory.create_batch(30, campaign=campaign)
    batch = uuid4()
    people = [person.id for person in queue.claim(campaign=campaign.pk, batch=batch, worker="w")]
    queue.start(batch=batch, people=30)

    def deliver(part: int) -> None:
        for person in Recipient.objects.filter(pk__in=people[part::3]):
            services.record_event(delivered(person, batch))

    results = at_once(
        lambda: settle(batch, people), lambda: deliver(0), lambda: deliver(1), lambda: deliver(2)
    )

    assert results == [None] * 4
    assert set(Recipient.objects.values_list("status", "locked_by")) == {("delivered", None)}
    assert SendBatch.objects.get().accepted == 30


def delivered(person: Recipient, batch: UUID) -> ProviderEvent:
    moment = Recipient.objects.annotate(now=Now()).values_list("now", flat=True)[0]
    return ProviderEvent(
        provider="mailgun",
        domain="mg.example.com",
        event_id=uuid4().hex,
        type=EventType.DELIVERED,
        occurred_at=moment,
        address=person.email,
        payload={},
        batch=batch,
        recipient=person.pk,
    )


def test_events_that_prove_an_unclear_batch_at_once_settle_it_once() -> None:
    campaign = CampaignFactory.create(status="sending")
    RecipientFactory.create_batch(12, campaign=campaign)
    batch = uuid4()
    queue.claim(campaign=campaign.pk, batch=batch, worker="w")
    queue.start(batch=batch, people=12)
    resolver.note_unknown(batch, jobs.RECIPIENTS, reason="lost")
    people = list(Recipient.objects.all())

    results = at_once(
        *(lambda person=person: services.record_event(delivered(person, batch)) for person in people[:4])
    )

    assert [found.recipient for found in results] == [person.pk for person in people[:4]]
    assert Recipient.objects.filter(status="delivered").count() == 4
    assert Recipient.objects.filter(status="sent").count() == 8


def test_workers_that_take_a_snapshot_at_once_take_everybody_once() -> None:
    audience = ContactListFactory.create()
    MembershipFactory.create_batch(60, list=audience)
    campaign = CampaignFactory.create(status="sending", lists=[audience])

    def take() -> None:
        while housekeeping.take_snapshot(limit=10):
            pass

    at_once(*[take] * 3)
    take()

    assert Recipient.objects.filter(campaign=campaign).count() == 60


def test_a_double_click_on_send_starts_once() -> None:
    audience = ContactListFactory.create()
    MembershipFactory.create(list=audience)
    campaign = CampaignFactory.create(lists=[audience], domain=SenderDomainFactory.create())

    results = at_once(*[lambda: services.start(Campaign.objects.get(pk=campaign.pk))] * 3)

    assert [type(result) for result in results].count(services.NotSendable) == 2
    assert results.count(None) == 1
