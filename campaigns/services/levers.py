"""What an operator does to a domain or a stream."""

from campaigns.models import SenderDomain, Stream
from campaigns.sql import messages


def pause_domain(domain: SenderDomain, *, reason: str) -> bool:
    """Stop everything from a domain until a person resumes it; False when it was paused already."""
    active = SenderDomain.objects.filter(pk=domain.pk, status=SenderDomain.Status.ACTIVE)
    return bool(active.update(status=SenderDomain.Status.PAUSED, paused_reason=reason))


def resume_domain(domain: SenderDomain) -> bool:
    """Let mail leave from a domain again, at once, whatever it waited for; False when nothing held it."""
    held = SenderDomain.objects.filter(pk=domain.pk).exclude(
        status=SenderDomain.Status.ACTIVE, held_until=None, probe_until=None
    )
    messages.notify("")
    return bool(
        held.update(
            status=SenderDomain.Status.ACTIVE,
            paused_reason="",
            held_until=None,
            held_reason="",
            probe_until=None,
            throttles=0,
        )
    )


def pause_stream(stream: Stream, *, reason: str, by: str) -> bool:
    """Stop a flow of mail after the calls that are open; False when it was paused already."""
    running = Stream.objects.filter(pk=stream.pk, paused=False)
    return bool(running.update(paused=True, paused_reason=reason, paused_by=by))


def resume_stream(stream: Stream) -> bool:
    """Let a flow of mail go on; False when it was not paused."""
    messages.notify(stream.name)
    return bool(
        Stream.objects.filter(pk=stream.pk, paused=True).update(paused=False, paused_reason="", paused_by="")
    )
