"""What becomes of messages by somebody's hand: taken back while they are ready, sent again when they died."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from django.db import transaction

from campaigns.models import Message, Stream
from campaigns.services.levers import said
from campaigns.sql import letters, messages
from mailkoenig.lib import audit
from mailkoenig.lib.audit import OWN_CODE
from mailkoenig.lib.counting import many

REASONS_NAMED = 10


def cancel_message(message: Message, *, by: str) -> bool:
    """Take a message back; False where it is not ready any more."""
    return bool(cancel_messages([message.pk], by=by))


def cancel_messages(ids: Collection[int], *, by: str, reason: str = "") -> int:
    """Take back those of these that are still ready; return how many. What is leased or sent stays as it is."""
    with transaction.atomic():
        gone = letters.cancel(ids, reason=said(f"Cancelled by {by}", reason))
        for row in gone:
            audit.note(on=named(row), what=said("Cancelled", reason), by=by)
    return len(gone)


def cancel_ready(stream: Stream, *, by: str, reason: str = "") -> int:
    """Take back everything that is ready in a stream; return how many there were."""
    with transaction.atomic():
        gone = letters.cancel_ready(stream.pk, reason=said(f"Cancelled by {by}", reason))
        if gone:
            audit.note(
                on=stream,
                what=said(f"Cancelled {many(gone, 'message')} that {was(gone)} ready", reason),
                by=by,
            )
    return gone


def requeue_messages(
    *,
    stream: Stream | None = None,
    ids: Collection[int] | None = None,
    by: str = OWN_CODE,
    reason: str = "",
) -> int:
    """Make dead letters ready again, these or all of a stream (or of every one); return how many there were.

    What they had died of is kept in the audit trail: each by itself where they were chosen, counted where not.
    """
    with transaction.atomic():
        found = (
            requeue_all(stream, by=by, reason=reason) if ids is None else requeue(ids, by=by, reason=reason)
        )
        if found:
            messages.notify(stream.name if stream else "")
    return found


def requeue(ids: Collection[int], *, by: str, reason: str) -> int:
    """Make these ready again."""
    dead = letters.requeue(ids)
    for row in dead:
        audit.note(on=named(row), what=f"{said('Requeued', reason)} It had died: {row.reason}", by=by)
    return len(dead)


def requeue_all(stream: Stream | None, *, by: str, reason: str) -> int:
    """Make those of a stream, or of all, ready again."""
    deaths: dict[int, list[letters.Death]] = defaultdict(list)
    for death in letters.requeue_all(stream.pk if stream else None):
        deaths[death.stream].append(death)
    for flow in Stream.objects.filter(pk__in=deaths):
        count = sum(death.messages for death in deaths[flow.pk])
        what = said(f"Requeued {many(count, 'message')}", reason)
        audit.note(on=flow, what=f"{what} They had died: {causes(deaths[flow.pk])}", by=by)
    return sum(death.messages for found in deaths.values() for death in found)


def causes(deaths: Iterable[letters.Death]) -> str:
    """Return what messages had died of, the commonest first."""
    lines = [f"{death.messages:,} of “{death.reason}”" for death in deaths]
    rest = len(lines) - REASONS_NAMED
    return (
        "; ".join([*lines[:REASONS_NAMED], *([f"and of {many(rest, 'other reason')}"] if rest > 0 else [])])
        + "."
    )


def named(row: letters.Touched) -> Message:
    """Return a message as the audit trail needs it."""
    return Message(pk=row.id, idempotency_key=row.idempotency_key)


def was(count: int) -> str:
    return "was" if count == 1 else "were"
