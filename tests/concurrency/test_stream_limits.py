"""The limits of a stream hold over all workers together."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.db.models.functions import Now

from campaigns.models import Campaign, SendBatch, Stream
from campaigns.sql import queue
from tests.concurrency.test_queue_races import at_once
from tests.factories import CampaignFactory, RecipientFactory

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
