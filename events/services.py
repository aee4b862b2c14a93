"""What follows from an event of the provider. The only writer of this app's tables besides `sql`."""

import logging
from collections.abc import Sequence
from datetime import timedelta

import psycopg
from django.conf import settings
from django.db import OperationalError, connection, transaction

from campaigns import services as campaigns
from contacts import services as contacts
from contacts.models import Suppression
from events import sql
from events.models import Event
from mailkoenig.lib.addresses import InvalidAddress, normalise
from mailkoenig.providers.mailgun.webhook import Proof
from mailkoenig.providers.types import EventType, ProviderEvent

logger = logging.getLogger(__name__)

Reason, Scope = Suppression.Reason, Suppression.Scope
# For SUPPRESSED the provider's list takes the place of the type.
REFUSALS = {
    EventType.BOUNCED.value: (Reason.BOUNCED, Scope.ALL),
    EventType.COMPLAINED.value: (Reason.COMPLAINED, Scope.ALL),
    EventType.UNSUBSCRIBED.value: (Reason.UNSUBSCRIBED, Scope.MARKETING),
}
CONTENTION = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)


class Replayed(Exception):
    """A signature that was used already came again with another body."""


def ingest(event: ProviderEvent, *, source: Event.Source, proof: Proof | None = None) -> bool:
    """Record an event and what follows from it, all or nothing; return False where it was known already.

    `proof` is what a webhook was signed with; used again for another body it raises Replayed. Of two transactions that
    the database finds in each other's way one is tried again, once.
    """
    try:
        return _ingest(event, source=source, proof=proof)
    except OperationalError as error:
        if connection.in_atomic_block or not isinstance(error.__cause__, CONTENTION):
            raise
        logger.info(
            "event tried again", extra={"event": event.event_id, "cause": type(error.__cause__).__name__}
        )
        return _ingest(event, source=source, proof=proof)


@transaction.atomic
def _ingest(event: ProviderEvent, *, source: Event.Source, proof: Proof | None) -> bool:
    recorded = sql.record(
        event,
        source=source.value,
        token=proof.token if proof else None,
        body_digest=proof.body_digest if proof else None,
    )
    if proof and not recorded.is_token_new and sql.used_for(proof.token) != proof.body_digest:
        raise Replayed
    if recorded.event is None:
        return False
    subject = campaigns.record_event(event)
    if subject != (event.recipient, event.message):
        sql.attach(recorded.event, recipient=subject.recipient, message=subject.message)
    suppress(event)
    return True


@transaction.atomic
def ingest_acceptances(events: Sequence[ProviderEvent], *, source: Event.Source) -> list[ProviderEvent]:
    """Record at once those of many acceptances that tell nothing new about their mail, and return the others."""
    plain = campaigns.accepted_already(events)
    sql.record_many(plain, source=source.value)
    taken = set(map(id, plain))
    return [event for event in events if id(event) not in taken]


def suppress(event: ProviderEvent) -> None:
    """Refuse the address for good where the event says so, whether we know its mail, or anybody by it, or not."""
    word = event.suppression if event.type is EventType.SUPPRESSED else event.type.value
    if word not in REFUSALS:
        return
    try:
        address = normalise(event.address)
    except InvalidAddress:
        logger.warning("event names no address", extra={"event": event.event_id, "type": event.type.value})
        return
    reason, scope = REFUSALS[word]
    contacts.suppress(
        address=address,
        reason=reason,
        scope=scope,
        source=event.provider,
        event=event.event_id,
    )


def prune(*, keep: timedelta, batch: int = 10_000) -> tuple[int, int]:
    """Delete events older than `keep`, and tokens that no signature can use any more; return how many of each."""
    events, after = 0, 0
    while (pruned := sql.prune_events(age=keep, after=after, limit=batch)).rows:
        events, after = events + pruned.rows, pruned.last
    tokens = 0
    # A token is of use for as long as its signature is accepted, and it may have been seen before it was signed.
    age = timedelta(seconds=settings.WEBHOOK_MAX_AGE + settings.WEBHOOK_MAX_AHEAD)
    while gone := sql.prune_tokens(age=age, limit=batch):
        tokens += gone
    return events, tokens
