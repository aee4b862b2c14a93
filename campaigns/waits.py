"""Why a stream waits and until when, in the words that the dashboard, the commands and the pages use."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from campaigns.sql import waits as sql
from mailkoenig.lib.clocks import clock, span

# What makes the function stream_room() say that nothing may begin now.
NO_ROOM = frozenset({"stopped", "paused", "quiet", "cap", "rate", "burst", "calls"})
# What does not end by itself within a minute or so.
LASTING = frozenset({"stopped", "restore", "paused", "quiet", "cap"})


class Wait(NamedTuple):
    """One reason why mail of a stream waits.

    `kind` is one of NO_ROOM, or "restore" (nothing is sent until a person confirms), "domain" (paused), "held" (asked to
    wait), "probe" (one call goes first after a wait), or "draining", which keeps new mail out and holds up none.
    `until` is when it ends by itself; None where a person has to act or nobody knows.
    """

    kind: str
    text: str
    until: datetime | None = None
    domain: str = ""
    """The only domain whose mail it holds up; empty where it is all mail of the stream."""

    def holds(self, domain: str) -> bool:
        """Say whether it keeps mail of this domain from being sent."""
        return self.kind != "draining" and self.domain in ("", domain)


def of(stream: str) -> list[Wait]:
    """Return everything that keeps the stream of this name from sending, what weighs most first; empty when nothing does.

    It tells also of limits that no mail is waiting for at present. Cheap: one statement, from indexes.
    """
    return every(stream).get(stream, [])


def every(stream: str | None = None) -> dict[str, list[Wait]]:
    """Return the same of all streams by name, in one statement."""
    found: dict[str, list[Wait]] = {}
    for facts in sql.facts(stream):
        own = found.setdefault(facts.stream, [])
        if not own:
            own += map(ended, stream_waits(facts))
        own += map(ended, domain_waits(facts))
    return found


def ended(wait: Wait) -> Wait:
    """Return it as a whole sentence, whatever somebody else's words in it end with."""
    return wait if wait.text.endswith((".", "?", "!")) else wait._replace(text=f"{wait.text}.")


def stream_waits(at: sql.Facts) -> Iterator[Wait]:
    """Say what is so of the whole stream."""
    zone = ZoneInfo(at.time_zone)
    if at.stopped_at:
        who = f"by {at.stopped_by} " if at.stopped_by else ""
        yield Wait(
            "stopped",
            f"All sending was stopped {who}at {clock(at.stopped_at)}: {at.stopped_reason or 'nobody said why.'}",
        )
    if at.held_after_restore:
        yield Wait("restore", f"{at.held_after_restore} Nothing is sent until 'manage.py confirm_restore'.")
    if at.is_paused:
        who = f" by {at.paused_by}" if at.paused_by else ""
        yield Wait("paused", f"Paused{who}: {at.paused_reason or 'nobody said why.'}")
    if at.quiet_until:
        yield Wait("quiet", f"Quiet until {clock(at.quiet_until, zone=zone)}.", at.quiet_until)
    if at.cap_until:
        until = clock(at.cap_until, zone=zone)
        yield Wait("cap", f"The daily cap of {at.daily_cap:,} is reached until {until}.", at.cap_until)
    if at.rate_until:
        yield Wait("rate", f"Rate limit of {at.rate:,} a minute, {slot(at.rate_until, at)}.", at.rate_until)
    if at.burst_until:
        yield Wait(
            "burst",
            f"Rate limit of {at.rate:,} a minute with bursts of {at.burst:,}, {slot(at.burst_until, at)}.",
            at.burst_until,
        )
    if at.has_all_calls_open:
        calls = "The one call" if at.concurrency == 1 else f"All {at.concurrency:,} calls"
        yield Wait(
            "calls", f"{calls} that it may make at a time {'is' if at.concurrency == 1 else 'are'} open."
        )
    if at.is_draining:
        yield Wait("draining", "Draining: it sends what it holds and takes nothing new.")


def slot(until: datetime, at: sql.Facts) -> str:
    """Say when the next mail may leave."""
    seconds = max((until - at.now).total_seconds(), 0)
    return f"next slot in {seconds:.0f} s" if seconds < 100 else f"next slot in {span(until - at.now)}"


def domain_waits(at: sql.Facts) -> Iterator[Wait]:
    """Say why the mail of one domain waits; that of others goes on."""
    if at.domain is None:
        return
    if at.domain_status != "active":
        yield Wait(
            "domain",
            f"Domain {at.domain} is paused: {at.domain_reason or 'nobody said why.'}",
            domain=at.domain,
        )
    elif at.held_until and at.held_until > at.now:
        text = f"Domain {at.domain} waits until {clock(at.held_until)}: {at.held_reason}"
        yield Wait("held", text, at.held_until, domain=at.domain)
    elif at.probe_until and at.probe_until > at.now:
        text = f"Domain {at.domain} tries one call first after a wait."
        yield Wait("probe", text, at.probe_until, domain=at.domain)
