"""The limits of a stream hold over all workers together."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.db.models.functions import Now

from campaigns.models import Campaign, SendBatch, Stream
from campaigns.sql import jobs, queue
from mailkoenig.lib import db
from tests.concurrency.test_queue_races import at_once
from tests.factories import CampaignFactory, RecipientFactory, SendBatchFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def campaign() -> Campaign:
    campaign: Campaign = CampaignFactory.create(status="sending")
    RecipientFactory.create_batch(60, campaign=campaign)
    return campaign


def limits(**values: int) -> None:
    Stream.objects.filter(name="campaigns").update(**values)


def claims(campaign: Campaign, number: int) -> list[tuple[UUID, int]]:
    found = []
    for _ in range(number):
        batch = uuid4()
        found.append((batch, len(queue.claim(campaign=campaign.pk, batch=batch, worker="w"))))
    return found


def starter(batch: UUID, people: int) -> Callable[[], bool]:
    def start() -> bool:
        with transaction.atomic():
            return queue.start(batch=batch, people=people)

    return start


def test_no_more_calls_are_open_than_the_stream_may_have(campaign: Campaign) -> None:
    limits(batch_size=10, concurrency=2)

    started = at_once(*(starter(*claimed) for claimed in claims(campaign, 5)))

    assert started.count(True) == 2
    assert queue.ready() == []
    assert queue.claim(campaign=campaign.pk, batch=uuid4(), worker="w") == []


def test_a_call_that_has_ended_makes_room(campaign: Campaign) -> None:
    limits(batch_size=10, concurrency=1)
    (first, people), (second, _) = claims(campaign, 2)
    assert starter(first, people)()
    assert not starter(second, people)()

    queue.close(batch=first, state="accepted")

    assert starter(second, people)()


def test_a_call_that_a_dead_worker_left_takes_no_room_for_long(campaign: Campaign) -> None:
    limits(batch_size=10, concurrency=1)
    (first, people), (second, _) = claims(campaign, 2)
    starter(first, people)()
    SendBatch.objects.filter(pk=first).update(started_at=Now() - timedelta(minutes=3))

    assert starter(second, people)()


def test_no_minute_has_more_mails_than_the_rate(campaign: Campaign) -> None:
    limits(batch_size=10)
    claimed = claims(campaign, 5)
    limits(rate_per_minute=25)

    started = at_once(*(starter(*claim) for claim in claimed))

    assert started.count(True) == 2
    assert sum(SendBatch.objects.filter(state="in_flight").values_list("size", flat=True)) == 20


def test_a_claim_takes_what_the_minute_has_left(campaign: Campaign) -> None:
    limits(batch_size=10, rate_per_minute=25)
    for batch, people in claims(campaign, 2):
        starter(batch, people)()
        queue.close(batch=batch, state="accepted")

    assert claims(campaign, 1)[0][1] == 5


def test_room_comes_back_when_the_minute_is_over(campaign: Campaign) -> None:
    limits(batch_size=10, rate_per_minute=10)
    ((batch, people),) = claims(campaign, 1)
    starter(batch, people)()
    queue.close(batch=batch, state="accepted")
    assert queue.ready() == []

    SendBatch.objects.update(started_at=Now() - timedelta(seconds=62))

    assert [found.campaign for found in queue.ready()] == [campaign.pk]
    assert claims(campaign, 1)[0][1] == 10


def busy(campaign: Campaign, until: float) -> Callable[[], int]:
    """A worker that begins whatever it may, call after call, and returns how many mails that were."""

    def work() -> int:
        began = 0
        while time.monotonic() < until:
            batch = uuid4()
            people = len(queue.claim(campaign=campaign.pk, batch=batch, worker="w"))
            if people and starter(batch, people)():
                queue.close(batch=batch, state="accepted")
                began += people
            elif people:
                with transaction.atomic():
                    jobs.RECIPIENTS.give_back(batch=batch, reason="no room", after=timedelta(0), refund=1)
                    queue.close(batch=batch, state="returned")
            threading.Event().wait(0.002)
        return began

    return work


def most_within(window: timedelta) -> int:
    """Return the most mails that began within any stretch of time as long as `window`."""
    calls = [
        (at, size)
        for at, size in SendBatch.objects.order_by("started_at").values_list("started_at", "size")
        if at
    ]
    return max(sum(size for at, size in calls if begin <= at < begin + window) for begin, _ in calls)


def test_no_sliding_window_exceeds_a_rate_or_a_burst_while_four_workers_compete(campaign: Campaign) -> None:
    """Four workers try without a pause for as long as several bursts last."""
    RecipientFactory.create_batch(140, campaign=campaign)
    # A minute is too long for a test: what left most of one ago stands for its first part.
    limits(batch_size=3, rate_per_minute=300, burst=5)
    SendBatchFactory.create(
        campaign=campaign, size=285, state="accepted", started_at=db.now() - timedelta(seconds=58)
    )
    until = time.monotonic() + 4.5

    began = at_once(*(busy(campaign, until) for _ in range(4)))

    assert 285 < most_within(timedelta(minutes=1)) <= 300
    SendBatch.objects.filter(size=285).delete()
    assert most_within(timedelta(seconds=1)) <= 5
    # All that the minute had left was used, no more; then, as the past leaves the window, a burst a second again.
    assert sum(began) == sum(SendBatch.objects.filter(state="accepted").values_list("size", flat=True))
    assert 0 < sum(began) <= 15 + 5 * 3


def test_a_rate_that_is_used_up_lets_nothing_through_until_the_minute_is_over(campaign: Campaign) -> None:
    limits(batch_size=10, rate_per_minute=25)

    began = at_once(*(busy(campaign, time.monotonic() + 1.5) for _ in range(4)))

    assert sum(began) == 25
    assert most_within(timedelta(seconds=60)) == 25


@pytest.mark.parametrize("change", [{"rate_per_minute": 5}, {"paused": True}])
def test_a_limit_that_is_lowered_holds_from_the_next_call_on(
    campaign: Campaign, change: dict[str, int]
) -> None:
    limits(batch_size=5)
    claimed = claims(campaign, 3)
    assert starter(*claimed[0])()

    limits(**change)

    assert [starter(*claim)() for claim in claimed[1:]] == [False, False]
