"""How long a domain waits after the provider asked for it."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from campaigns.models import SendBatch, SenderDomain
from campaigns.sql import recovery
from tests.factories import SendBatchFactory

pytestmark = pytest.mark.django_db
WAIT = timedelta(minutes=15)


def test_calls_that_were_open_when_the_provider_asked_to_wait_do_not_end_the_wait() -> None:
    first: SendBatch = SendBatchFactory.create(state="in_flight", started_at=Now())
    given = {"campaign": first.campaign, "domain": first.domain, "state": "in_flight", "started_at": Now()}
    second, third = (SendBatchFactory.create(**given) for _ in range(2))

    recovery.hold_domain(batch=first.pk, wait=WAIT, reason="429 Slow down")
    recovery.hold_domain(batch=second.pk, wait=WAIT, reason="429 Slow down")
    recovery.release_domain(third.pk)

    domain = SenderDomain.objects.get()
    assert (domain.held_until is None, domain.held_reason, domain.throttles) == (False, "429 Slow down", 1)

    later = SendBatchFactory.create(**given)
    recovery.release_domain(later.pk)
    domain.refresh_from_db()
    assert (domain.held_until is None, domain.held_reason, domain.throttles) == (True, "", 0)
