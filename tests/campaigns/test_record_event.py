"""What an event does to its recipient and its batch."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns import resolver, services, states
from campaigns.models import Campaign, Recipient, SendBatch
from campaigns.sql import jobs, queue
from mailkoenig.providers.types import EventType, ProviderEvent
from tests.factories import CampaignFactory, ContactFactory, RecipientFactory

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 10, 1, 12, tzinfo=UTC)


def event(kind: EventType, person: Recipient | None = None, **fields: Any) -> ProviderEvent:
    values: dict[str, Any] = {
        "provider": "mailgun",
        "domain": "mg.example.com",
        "event_id": uuid4().hex,
        "type": kind,
        "occurred_at": NOON,
        "address": person.email if person else "",
        "payload": {},
        "recipient": person.pk if person else None,
    }
    return ProviderEvent(**(values | fields))


def in_batch(state: str = "in_flight", people: int = 2) -> tuple[SendBatch, list[Recipient]]:
    campaign: Campaign = CampaignFactory.create(status="sending")
    RecipientFactory.create_batch(people, campaign=campaign)
    batch = uuid4()
    claimed = queue.claim(campaign=campaign.pk, batch=batch, worker="w1")
    queue.start(batch=batch, people=people)
    if state == "unknown":
        resolver.note_unknown(batch, jobs.RECIPIENTS, reason="lost")
    return SendBatch.objects.get(pk=batch), list(
        Recipient.objects.filter(pk__in=[p.id for p in claimed]).order_by("id")
    )


def test_a_delivery_that_overtakes_the_settle_clears_the_lease() -> None:
    batch, (person, _) = in_batch()

    assert services.record_event(event(EventType.DELIVERED, person, batch=batch.pk)).recipient == person.pk

    person.refresh_from_db()
    assert (person.status, person.locked_by, person.delivered_at, person.sent_at) == (
        "delivered",
        None,
        NOON,
        NOON,
    )


def test_one_event_settles_the_whole_unclear_batch() -> None:
    batch, people = in_batch("unknown", people=3)

    services.record_event(event(EventType.ACCEPTED, people[0], batch=batch.pk))

    batch.refresh_from_db()
    assert (batch.state, batch.accepted) == ("accepted", 3)
    assert {person.status for person in Recipient.objects.all()} == {"sent"}


def test_an_event_for_another_address_touches_nobody() -> None:
    _batch, (person, _) = in_batch()

    assert (
        services.record_event(event(EventType.COMPLAINED, person, address="somebody@example.org")).recipient
        is None
    )

    person.refresh_from_db()
    assert person.status == "sending"


def test_the_recipient_is_found_by_batch_and_address() -> None:
    batch, (person, _) = in_batch()

    assert (
        services.record_event(event(EventType.BOUNCED, address=person.email, batch=batch.pk)).recipient
        == person.pk
    )


def test_the_recipient_is_found_by_the_providers_id_and_address() -> None:
    _batch, (person, _) = in_batch()
    SendBatch.objects.update(provider_id="abc@mg.example.com")

    found = services.record_event(
        event(EventType.BOUNCED, address=person.email, message_id="abc@mg.example.com")
    )

    assert found.recipient == person.pk


def test_events_for_mail_that_we_do_not_know_change_nothing() -> None:
    contact = ContactFactory.create()

    assert (
        services.record_event(event(EventType.DELIVERED, address=contact.email, batch=uuid4())).recipient
        is None
    )
    assert services.record_event(event(EventType.DELIVERED, address="", recipient=10**12)).recipient is None


def test_a_failure_says_why_in_the_providers_words() -> None:
    _, (person, _) = in_batch()

    services.record_event(event(EventType.BOUNCED, person, reason="5.1.1 no such user"))

    person.refresh_from_db()
    assert (person.status, person.reason) == ("bounced", "5.1.1 no such user")


def test_machines_and_people_are_kept_apart() -> None:
    _, (person, other) = in_batch()

    services.record_event(event(EventType.OPENED, person, is_machine=True))
    services.record_event(event(EventType.CLICKED, other))

    person.refresh_from_db()
    other.refresh_from_db()
    assert (person.machine_opened_at, person.opened_at) == (NOON, None)
    assert (other.clicked_at, other.machine_clicked_at, other.status) == (NOON, None, "delivered")


def test_the_first_open_counts_whichever_comes_first() -> None:
    _, (person, _) = in_batch()

    services.record_event(event(EventType.OPENED, person, occurred_at=NOON + timedelta(hours=1)))
    services.record_event(event(EventType.OPENED, person))

    person.refresh_from_db()
    assert person.opened_at == NOON


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(list(EventType)), max_size=6).flatmap(
        lambda h: st.tuples(st.just(h), st.permutations(h))
    )
)
def test_the_database_agrees_with_the_ladder_in_any_order(
    orders: tuple[list[EventType], list[EventType]],
) -> None:
    person = RecipientFactory.create()
    expected: str = "pending"
    for kind in orders[0]:
        expected = states.advance(expected, kind)

    for kind in orders[1]:
        services.record_event(event(kind, person))

    person.refresh_from_db()
    assert person.status == expected


def test_a_foreign_batch_is_not_an_error() -> None:
    person = RecipientFactory.create()

    assert services.record_event(event(EventType.DELIVERED, person, batch=UUID(int=1))).recipient == person.pk
