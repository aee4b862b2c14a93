"""What is wrong: each rule looks at how things stand and says so in one sentence, with its facts."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from django.conf import settings

from campaigns import guard, silence
from campaigns.sql.guard import judged
from mailkoenig.lib.clocks import span
from mailkoenig.monitoring import queries
from mailkoenig.monitoring.models import Alert
from mailkoenig.monitoring.overview import AS_SET, Overview, Stream

Kind, Severity = Alert.Kind, Alert.Severity
# A stream with a rate may stand still for a minute after a burst.
RATE_PAUSE = 65.0
# How long a worker may hold a batch before the call begins.
LEASED_PAUSE = 60.0
# A worker that is being restarted is nothing to be told of.
RESTART = 60.0
# Who is told that so many wait does not ask how many it is exactly.
MANY = 10_000
# Why a stream stands still, where it is not the workers.
BECAUSE = {
    "stopped": "all sending was stopped",
    "restore": "the database may have been restored",
    "paused": "somebody paused it",
    "domain": "its domain is paused",
}


class Finding(NamedTuple):
    """One thing that is wrong, and what it is about."""

    kind: str
    subject: str
    severity: str
    summary: str
    details: dict[str, Any]


def findings(at: Overview) -> list[Finding]:
    """Return everything that is wrong."""
    return [
        *stalled(at),
        *without_worker(at),
        *unknown_for_long(at.streams),
        *paused_domains(),
        *silent_campaigns(),
        *over_a_guard_rail(),
    ]


def stalled(at: Overview) -> Iterator[Finding]:
    """The oldest mail of a stream is over its budget, and the provider has taken nothing for as long."""
    for stream in at.streams:
        if not is_stalled(stream):
            continue
        where, why = stopped_at(stream)
        accepted = (
            f"nothing was accepted for {ago(stream.settled.oldest)}"
            if stream.settled.oldest is not None
            else "nothing was accepted within the last hour"
        )
        waits = [wait.text for wait in stream.waits]
        summary = (
            f"{stream.name}: the oldest mail waits for {ago(stream.ready.oldest)} (budget {ago(stream.limits.age_budget)}) "
            f"and {accepted}. It stopped at {where!r}: {why}. Last answer: {last_answer(stream)}. "
            f"Workers alive: {stream.workers}.{' ' if waits else ''}{' '.join(waits)}"
        )
        yield Finding(
            Kind.STALLED,
            stream.name,
            Severity.PAGE,
            summary,
            {
                "stream": stream.name,
                "oldest_ready": whole(stream.ready.oldest),
                "age_budget": whole(stream.limits.age_budget),
                "ready": stream.ready.mails,
                "last_accepted": whole(stream.settled.oldest),
                "stopped": where,
                "stopped_because": why,
                "last_answer": stream.last.answer_class or "",
                "workers": stream.workers,
                "waits": waits,
            },
        )


def is_stalled(stream: Stream) -> bool:
    """Say whether mail of a stream is stuck."""
    age, budget = stream.ready.oldest, stream.limits.age_budget
    if age is None or any(wait.kind in AS_SET for wait in stream.waits):
        return False
    if stream.limits.open_for is not None:
        age = min(age, stream.limits.open_for)
    patience = max(budget, RATE_PAUSE) if stream.limits.rate_per_minute else budget
    accepted = stream.last.accepted
    return age > budget and (accepted is None or accepted > patience)


def stopped_at(stream: Stream) -> tuple[str, str]:
    """Return in which of its four states mail of a stream goes no further, and how that shows."""
    if not stream.workers:
        return "ready", "no worker is alive to take it"
    held_by = next((BECAUSE[wait.kind] for wait in stream.waits if wait.kind in BECAUSE), None)
    if held_by is not None:
        return "ready", held_by
    if (open_for := stream.in_flight.oldest) and open_for > settings.MAILGUN_CALL_TIMEOUT:
        return "accepted", f"a call has been open for {ago(open_for)}"
    if stream.last.calls:
        return "leased", "calls are made, and the provider accepts none"
    if (held_for := stream.leased.oldest) and held_for > LEASED_PAUSE:
        return "leased", f"a worker has held a batch for {ago(held_for)}, and no call begins"
    return "ready", "nobody takes it"


def without_worker(at: Overview) -> Iterator[Finding]:
    """Mail waits, and no worker that would take it is alive."""
    left = [
        stream
        for stream in at.streams
        if stream.ready.oldest is not None
        and not any(one.serves(stream.name) and (one.is_alive or one.seen < RESTART) for one in at.workers)
    ]
    if not left:
        return
    names = [stream.name for stream in left]
    seen = min((one.seen for one in at.workers if any(map(one.serves, names))), default=None)
    mails = sum(stream.ready.mails + stream.later for stream in left)
    last = f"{ago(seen)} ago" if seen is not None else "more than a day ago, if ever"
    yield Finding(
        Kind.NO_WORKER,
        "",
        Severity.PAGE,
        f"No worker is alive for {', '.join(names)}, and {many(mails)} {'waits' if mails == 1 else 'wait'}; one was last seen {last}. Start run_sender.",
        {
            "streams": names,
            "ready": {stream.name: stream.ready.mails for stream in left},
            "last_seen": whole(seen),
        },
    )


def unknown_for_long(streams: Sequence[Stream]) -> Iterator[Finding]:
    """An outcome waits for a person, or for the provider's log, for longer than it should."""
    patience = settings.ALERT_UNKNOWN_AFTER
    for stream in streams:
        held, unknown = stream.held.oldest or 0, stream.unknown.oldest or 0
        if held > patience:
            words = f"{many(stream.held.mails)} with an unknown outcome wait for a decision, the oldest for {ago(held)}"
        elif unknown > patience + settings.RESOLVER_WAITS[-1]:
            words = (
                f"{many(stream.unknown.mails)} have an unknown outcome, the oldest for {ago(unknown)}, and nobody asks the "
                "provider's log"
            )
        else:
            continue
        yield Finding(
            Kind.UNKNOWN,
            stream.name,
            Severity.WARNING,
            f"{stream.name}: {words}.",
            {
                "stream": stream.name,
                "held": stream.held.mails,
                "unknown": stream.unknown.mails,
                "oldest": whole(max(held, unknown)),
            },
        )


def paused_domains() -> Iterator[Finding]:
    """Nothing leaves from a domain until a person resumes it."""
    for domain in queries.paused_domains():
        reason = domain.reason or "nobody said why."
        yield Finding(
            Kind.DOMAIN,
            domain.name,
            Severity.PAGE,
            f"Nothing is sent from {domain.name}: {reason}",
            {"domain": domain.name, "reason": reason},
        )


def silent_campaigns() -> Iterator[Finding]:
    """A campaign was accepted, and nothing is heard of it."""
    for found in silence.silent():
        yield Finding(
            Kind.SILENCE,
            f"campaign {found.campaign}",
            Severity.WARNING,
            f"Nothing has come back of campaign {found.campaign} since its first mail was accepted at "
            f"{found.since:%Y-%m-%d %H:%M} UTC. {silence.cause(found.domain)}",
            {
                "campaign": found.campaign,
                "domain": found.domain,
                "since": found.since.isoformat(),
                "stream": "campaigns",
            },
        )


def over_a_guard_rail() -> Iterator[Finding]:
    """Too many of a campaign's addresses are dead, or too many readers complain."""
    for campaign in judged():
        for breach in guard.breaches_of(campaign):
            paused = " It is paused." if campaign.status == "paused" else ""
            yield Finding(
                breach.kind,
                f"campaign {campaign.id}",
                Severity.PAGE if breach.stops else Severity.WARNING,
                f"Campaign {campaign.id}: {breach.text}{paused}",
                {
                    "campaign": campaign.id,
                    "stream": "campaigns",
                    "results": campaign.results,
                    "bounces": campaign.bounces,
                    "complaints": campaign.complaints,
                    "status": campaign.status,
                },
            )


def last_answer(stream: Stream) -> str:
    """Say what the provider answered last, and when."""
    if not stream.last.answer_class:
        return "none today"
    when = f" ({ago(stream.last.answered)} ago)" if stream.last.answered is not None else ""
    return f"{stream.last.answer_class}{when}"


def many(mails: int) -> str:
    """Write a number of mails."""
    return f"{mails:,}{' or more' if mails >= MANY else ''} {'mail' if mails == 1 else 'mails'}"


def ago(seconds: float | None) -> str:
    """Write an age."""
    return span(timedelta(seconds=seconds or 0))


def whole(seconds: float | None) -> int | None:
    """Return an age in whole seconds."""
    return None if seconds is None else round(seconds)
