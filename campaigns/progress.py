"""How far a campaign is and what it waits for, in the words that every page uses."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import NamedTuple

from django.core.cache import cache

from campaigns import waits as streams
from campaigns.models import Campaign, Recipient, SenderDomain
from campaigns.sql import progress
from mailkoenig.lib.clocks import clock, span
from mailkoenig.lib.counting import people

QUIET = timedelta(minutes=2)
MINUTE = timedelta(minutes=1)
# Waits of which nobody knows when they end, or that end much later.
STANDSTILL = frozenset({"campaign", "stream", "domain", "held"})
# What a stream's own pace makes wait, as it was set to.
PACE = frozenset({"rate", "burst"})
# Counting a large campaign may take at most one part in this many of a process's time, whoever watches.
SHARE = 10
WORTH_KEEPING = 0.2


class Numbers(NamedTuple):
    """People of one campaign. Accepted: the provider took it. Delivered: the reader's server took it."""

    selected: int
    ready: int
    leased: int
    accepted: int
    delivered: int
    opened: int
    clicked: int
    machine_opened: int
    by_status: dict[str, int]


class Reason(NamedTuple):
    """Why people are where they are, in the provider's words, and how many."""

    status: str
    label: str
    reason: str
    people: int


class Wait(NamedTuple):
    """What keeps a campaign from going on, and what to do; `kind` says where the lever is."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Progress:
    """One look at a campaign."""

    numbers: Numbers
    reasons: tuple[Reason, ...]
    pace: progress.Pace

    @property
    def left(self) -> int:
        """Return how many have not been sent to yet."""
        return self.numbers.ready + self.numbers.leased

    def remaining(self, campaign: Campaign) -> timedelta | None:
        """Return how long it still takes at the speed of the last minute; None where it stands still or has just begun."""
        began = campaign.resumed_at or campaign.started_at
        if not self.pace.last_minute or not self.left or began is None or self.pace.now - began < MINUTE:
            return None
        if any(wait.kind in STANDSTILL for wait in waits(campaign, at=self)):
            return None
        return timedelta(minutes=self.left / self.pace.last_minute)


def look(campaign: int) -> Progress:
    """Return a campaign's numbers; of a large one they may be some seconds old."""
    key = f"campaign-progress-{campaign}"
    if isinstance(kept := cache.get(key), Progress):
        return kept
    started = monotonic()
    rows = progress.tally(campaign)
    found = Progress(numbers(rows), reasons(rows), progress.pace(campaign))
    taken = monotonic() - started
    if taken > WORTH_KEEPING:
        cache.set(key, found, timeout=taken * SHARE)
    return found


def numbers(rows: list[progress.Tally]) -> Numbers:
    """Add up the rows that are about whole states."""
    states = [row for row in rows if not row.reason]
    by_status = {status.value: 0 for status in Recipient.Status} | {row.status: row.people for row in states}
    return Numbers(
        selected=sum(row.people for row in states),
        ready=by_status[Recipient.Status.PENDING],
        leased=by_status[Recipient.Status.SENDING],
        accepted=sum(row.accepted for row in states),
        delivered=sum(row.delivered for row in states),
        opened=sum(row.opened for row in states),
        clicked=sum(row.clicked for row in states),
        machine_opened=sum(row.machine_opened for row in states),
        by_status=by_status,
    )


def reasons(rows: list[progress.Tally]) -> tuple[Reason, ...]:
    """Return the commonest reasons, those of people who wait last."""
    found = [
        Reason(row.status, str(Recipient.Status(row.status).label), row.reason, row.people)
        for row in rows
        if row.reason
    ]
    return tuple(sorted(found, key=lambda reason: reason.status == Recipient.Status.PENDING))


def waits(campaign: Campaign, *, at: Progress) -> list[Wait]:
    """Return everything that keeps a campaign from going on."""
    if campaign.status not in (Campaign.Status.SENDING, Campaign.Status.PAUSED):
        return []
    found = [*own_waits(campaign), *stream_waits(at), *domain_waits(campaign.domain, now=at.pace.now)]
    if not found and campaign.status == Campaign.Status.SENDING:
        found += worker_waits(campaign, at=at)
    return found


def own_waits(campaign: Campaign) -> Iterator[Wait]:
    """Say why the campaign itself does not move."""
    if campaign.status == Campaign.Status.PAUSED:
        yield Wait("campaign", f"It is paused: {campaign.status_reason or 'nobody said why.'}")


def stream_waits(at: Progress) -> Iterator[Wait]:
    """Say what keeps all campaigns from going on, and what slows them; what is over within moments is not worth a word."""
    for found in streams.of("campaigns"):
        if found.kind in streams.LASTING:
            yield Wait("stream", f"All campaigns wait. {found.text}")
        elif found.kind in PACE and at.numbers.ready:
            yield Wait("rate", found.text)


def domain_waits(domain: SenderDomain | None, *, now: datetime) -> Iterator[Wait]:
    """Say why nothing leaves from the domain."""
    if domain is None:
        return
    if domain.status == SenderDomain.Status.PAUSED:
        yield Wait("domain", f"Sending from {domain} is paused: {domain.paused_reason or 'nobody said why.'}")
    elif domain.held_until and domain.held_until > now:
        yield Wait(
            "held", f"{domain} waits until {clock(domain.held_until)} and then goes on: {domain.held_reason}"
        )


def worker_waits(campaign: Campaign, *, at: Progress) -> Iterator[Wait]:
    """Say whether nobody works on it."""
    now, due = at.pace.now, at.pace.due_at
    if campaign.snapshot_finished_at is None:
        since = campaign.started_at
        if since and now - since > QUIET and not at.numbers.selected:
            yield Wait(
                "worker", f"No worker has begun it for {span(now - since)}: see that run_sender is running."
            )
        return
    unclear = at.numbers.by_status[Recipient.Status.UNKNOWN]
    if unclear and not at.left:
        yield Wait(
            "unknown",
            f"It waits for {people(unclear)} of whom nobody knows yet whether the provider took their mail; then it is over.",
        )
        return
    if due and due > now and not at.numbers.leased:
        yield Wait("retry", f"The next try is at {clock(due)}; it goes on by itself.")
        return
    since = at.pace.settled_at or campaign.started_at
    if at.numbers.ready and since and now - since > QUIET:
        yield Wait(
            "worker",
            f"No worker has settled anything for {span(now - since)}: see that run_sender is running.",
        )
