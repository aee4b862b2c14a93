"""What an operator does to a domain, a stream or all sending: once, with a trace, and seen by the workers at once.

Each tells whether it changed anything; what changed nothing leaves no trace.
"""

from django.db import transaction

from campaigns import installation
from campaigns.models import Installation, SenderDomain, Stream
from campaigns.sql import messages, stopping
from mailkoenig.lib import audit
from mailkoenig.lib.audit import OWN_CODE
from mailkoenig.lib.command import UserError

EVERYTHING = "all sending"


def pause_domain(domain: SenderDomain, *, reason: str, by: str = OWN_CODE) -> bool:
    """Stop everything from a domain until a person resumes it; False when it was paused already."""
    with transaction.atomic():
        active = SenderDomain.objects.filter(pk=domain.pk, status=SenderDomain.Status.ACTIVE)
        if not active.update(status=SenderDomain.Status.PAUSED, paused_reason=reason):
            return False
        audit.note(on=domain, what=f"Paused: {reason}", by=by)
    return True


def resume_domain(domain: SenderDomain, *, by: str = OWN_CODE) -> bool:
    """Let mail leave from a domain again, at once, whatever it waited for; False when nothing held it."""
    with transaction.atomic():
        held = SenderDomain.objects.filter(pk=domain.pk).exclude(
            status=SenderDomain.Status.ACTIVE, held_until=None, probe_until=None
        )
        resumed = held.update(
            status=SenderDomain.Status.ACTIVE,
            paused_reason="",
            held_until=None,
            held_reason="",
            probe_until=None,
            throttles=0,
            throttled_at=None,
        )
        if not resumed:
            return False
        audit.note(on=domain, what="Resumed.", by=by)
        messages.notify("")
    return True


def pause_stream(stream: Stream, *, reason: str, by: str) -> bool:
    """Stop a flow of mail after the calls that are open; False when it was paused already."""
    return change(
        stream,
        what=said("Paused", reason),
        by=by,
        was={"paused": False},
        paused=True,
        paused_reason=reason,
        paused_by=by[:150],
    )


def resume_stream(stream: Stream, *, by: str = OWN_CODE, reason: str = "") -> bool:
    """Let a flow of mail go on; False when it was not paused."""
    return change(
        stream,
        what=said("Resumed", reason),
        by=by,
        was={"paused": True},
        paused=False,
        paused_reason="",
        paused_by="",
    )


def drain_stream(stream: Stream, *, by: str, reason: str = "") -> bool:
    """Send what a stream holds and take nothing new; False when it was so already."""
    return change(stream, what=said("Draining", reason), by=by, was={"draining": False}, draining=True)


def undrain_stream(stream: Stream, *, by: str, reason: str = "") -> bool:
    """Take new mail again; False when nothing kept it out."""
    return change(
        stream, what=said("Takes new mail again", reason), by=by, was={"draining": True}, draining=False
    )


def set_concurrency(stream: Stream, calls: int, *, by: str, reason: str = "") -> bool:
    """Make at most so many calls at a time, over all workers, from the next batch on. Raises UserError."""
    if not 1 <= calls <= 1000:
        raise UserError(
            f"{calls} calls at a time can't be: give 1 to 1000; to stop the stream, pause it instead."
        )
    with transaction.atomic():
        before = locked(stream).concurrency
        what = said(f"Calls at a time: {calls:,} instead of {before:,}", reason)
        return change(stream, what=what, by=by, was={"concurrency": before}, concurrency=calls)


def reduce_to_one(stream: Stream, *, by: str, reason: str = "") -> bool:
    """Make one call at a time: the first lever where a provider is in trouble, as it keeps all that waits."""
    return set_concurrency(stream, 1, by=by, reason=reason)


def set_rate(stream: Stream, mails: int | None, *, by: str, reason: str = "") -> bool:
    """Send at most so many mails a minute, over all workers, from the next batch on; None for no limit.

    A burst that is larger shrinks with it, and goes where there is no rate. Raises UserError.
    """
    if mails is not None and not 1 <= mails <= 10_000_000:
        raise UserError(
            f"{mails:,} mails a minute can't be: give 1 or more; to stop the stream, pause it instead."
        )
    with transaction.atomic():
        held = locked(stream)
        burst = (
            held.burst if mails and held.burst and held.burst <= mails else (mails if held.burst else None)
        )
        what = said(f"Mails a minute: {limit(mails)} instead of {limit(held.rate_per_minute)}", reason)
        if burst != held.burst:
            what += f" Burst: {limit(burst)} instead of {limit(held.burst)}."
        return change(
            stream,
            what=what,
            by=by,
            was={"rate_per_minute": held.rate_per_minute},
            rate_per_minute=mails,
            burst=burst,
        )


def locked(stream: Stream) -> Stream:
    """Lock a stream's row and return it as it is."""
    return Stream.objects.select_for_update(of=["self"], no_key=True).get(pk=stream.pk)


def change(stream: Stream, *, what: str, by: str, was: dict[str, object], **values: object) -> bool:
    """Change a stream that `was` so, with a trace, and wake the workers; False where it was not or is like that."""
    with transaction.atomic():
        held = locked(stream)
        if any(getattr(held, name) != value for name, value in was.items()):
            return False
        if all(getattr(held, name) == value for name, value in values.items()):
            return False
        Stream.objects.filter(pk=stream.pk).update(**values)
        audit.note(on=held, what=what, by=by)
        messages.notify(held.name)
    return True


def said(act: str, reason: str) -> str:
    """Return an act as a sentence with its reason."""
    return f"{act}: {reason}" if reason else f"{act}."


def limit(number: int | None) -> str:
    return "no limit" if number is None else f"{number:,}"


def stop_everything(*, reason: str, by: str) -> bool:
    """Stop all sending within one batch, until somebody ends that; False when it was stopped already.

    Calls that are open are finished. Whatever waits keeps its place, and callers can still hand mail in.
    """
    with transaction.atomic():
        installation.note_first_start()
        if not stopping.stop(reason=reason, by=by[:200]):
            return False
        audit.note(on=EVERYTHING, what=said("Stopped", reason), by=by)
    return True


def go_on(*, by: str, reason: str = "") -> bool:
    """End the stop of all sending; False when nothing was stopped. Streams that are paused stay so."""
    with transaction.atomic():
        if not stopping.go_on():
            return False
        audit.note(on=EVERYTHING, what=said("Goes on", reason), by=by)
        messages.notify("")
    return True


def stopped() -> Installation | None:
    """Return who stopped all sending, when and why; None while it is not."""
    return Installation.objects.filter(stopped_at__isnull=False).first()
