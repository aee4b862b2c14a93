"""What an event of the provider does to the mail that it is about."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from campaigns import states
from campaigns.models import SendBatch
from campaigns.sql import feedback, jobs, queue, tallies
from campaigns.sql.jobs import Jobs
from mailkoenig.providers.types import EventType, ProviderEvent

MOMENTS = {
    (EventType.OPENED, False): "opened",
    (EventType.CLICKED, False): "clicked",
    (EventType.OPENED, True): "machine_opened",
    (EventType.CLICKED, True): "machine_clicked",
}


class Subject(NamedTuple):
    """What an event is about: a person of a campaign, a message, or nothing that we know."""

    recipient: int | None = None
    message: int | None = None


def record_event(event: ProviderEvent) -> Subject:
    """Move the mail that an event is about, and settle its batch if it was unclear; return what it was about.

    Events come in any order, twice, and before the worker's own commit; the state only rises.
    """
    reached = states.REACHED.get(event.type)

    def record(held: Jobs, row: int | None) -> feedback.Recorded:
        return feedback.record(
            held=held,
            row=row,
            batch=event.batch,
            address=event.address,
            reached=reached.value if reached else None,
            ladder=[status.value for status in states.LADDER],
            reason=failure_reason(event)
            if reached and states.rank(reached) > states.rank("delivered")
            else "",
            occurred_at=event.occurred_at,
            moment=MOMENTS.get((event.type, event.is_machine), ""),
        )

    held = jobs.RECIPIENTS if event.message is None else jobs.MESSAGES
    row, proven = record(held, event.recipient if event.message is None else event.message)
    if row is None and event.address:
        found = feedback.find(batch=event.batch, message_id=event.message_id, address=event.address)
        if found:
            held = jobs.of(found.campaign)
            row = record(held, found.row).row
    if proven == SendBatch.State.UNKNOWN and event.batch:
        settle_as_accepted(event.batch, answer="An event of the provider proves that it was accepted.")
    if row is None and reached and event.campaign and event.batch:
        feedback.remember(
            campaign=event.campaign,
            batch=event.batch,
            address=event.address,
            occurred_at=event.occurred_at,
        )
    return Subject(recipient=row) if held is jobs.RECIPIENTS else Subject(message=row)


def accepted_already(events: Sequence[ProviderEvent]) -> list[ProviderEvent]:
    """Return those of many acceptances from which nothing follows: we know that batch and person as accepted."""
    places = feedback.accepted_already(
        recipients=[event.recipient for event in events],
        addresses=[event.address for event in events],
        batches=[event.batch for event in events],
        moments=[event.occurred_at for event in events],
        ladder=[status.value for status in states.LADDER],
    )
    return [event for place, event in enumerate(events, start=1) if place in places]


def failure_reason(event: ProviderEvent) -> str:
    """Say why a mail that was accepted did not arrive, in the provider's words where it has any."""
    if event.type == EventType.SUPPRESSED:
        return f"The provider did not try: {event.reason or event.suppression or 'the address is on its own list'}"
    return event.reason or f"The provider reports: {event.type.value}."


def settle_as_accepted(batch: UUID, *, answer: str) -> int:
    """Settle an unclear batch: the provider took all of it. Return how many people that is about."""
    with transaction.atomic():
        held = (
            SendBatch.objects.select_related("stream", "domain")
            .select_for_update(of=["self"], no_key=True)
            .filter(pk=batch, state=SendBatch.State.UNKNOWN)
            .first()
        )
        if held is None:
            return 0
        rows = jobs.of(held.campaign_id)
        accepted = rows.accept(batch=held.pk, ids=rows.unknown(held.pk))
        queue.close(
            batch=held.pk,
            state=SendBatch.State.ACCEPTED,
            answer=answer,
            provider_id=f"{held.pk}@{held.domain.name}",
            accepted=held.size,
        )
        tallies.count("proven later", stream=held.stream.name, mails=accepted)
    return accepted
