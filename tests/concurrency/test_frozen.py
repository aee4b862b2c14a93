"""A worker that freezes in the middle of a transaction keeps nobody from going on."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models.functions import Now
from pytest_django.fixtures import Settings

from campaigns import housekeeping
from campaigns.models import Campaign, Recipient, SendBatch
from campaigns.sql import queue, snapshot
from mailkoenig.lib import db
from tests.factories import (
    CampaignFactory,
    ContactListFactory,
    MembershipFactory,
    RecipientFactory,
    SendBatchFactory,
)
from tests.processes import eventually

pytestmark = pytest.mark.django_db(transaction=True)


class Frozen:
    """A thread that does something in a transaction and is then not heard of until the end."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.began, self.end = threading.Event(), threading.Event()
        self.error: DatabaseError | None = None
        self.thread = threading.Thread(target=self.freeze, args=(act,))
        self.thread.start()
        assert self.began.wait(10)

    def freeze(self, act: Callable[[], object]) -> None:
        try:
            with transaction.atomic():
                act()
                self.began.set()
                self.end.wait(20)
                db.now()
        except DatabaseError as error:
            self.error = error
        connection.close()

    def wake(self) -> None:
        self.end.set()
        self.thread.join(20)


def test_a_batch_that_a_frozen_worker_has_locked_is_recovered(settings: Settings) -> None:
    settings.MAILGUN_CALL_TIMEOUT = 0.1
    batch: SendBatch = SendBatchFactory.create()
    RecipientFactory.create(
        campaign=batch.campaign, batch=batch, status="sending", locked_by="w", locked_at=Now()
    )
    SendBatch.objects.update(lease_expires_at=Now() - timedelta(seconds=1))
    frozen = Frozen(lambda: queue.lock(batch.pk))

    assert not housekeeping.recover()
    eventually(housekeeping.recover)

    frozen.wake()
    assert frozen.error
    assert Recipient.objects.get().status == "pending"


def test_a_snapshot_that_a_frozen_worker_has_begun_goes_on(settings: Settings) -> None:
    settings.MAILGUN_CALL_TIMEOUT = 0.1
    audience = ContactListFactory.create()
    MembershipFactory.create(list=audience)
    campaign: Campaign = CampaignFactory.create(status="sending", lists=[audience])

    frozen = Frozen(snapshot.unfinished)
    assert not housekeeping.take_snapshot()

    eventually(lambda: housekeeping.take_snapshot() or Recipient.objects.exists())

    frozen.wake()
    assert Recipient.objects.get().campaign == campaign
