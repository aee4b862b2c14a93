"""How each stream stands: its four states, its pace, what the provider answers, who serves it and why it waits."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NamedTuple

from django.core.cache import cache

from campaigns import waits
from mailkoenig.monitoring import counted, queries

ANSWER, WEBHOOK, REFUSED = "answer:", "webhook:", "refused:"
MINUTES = 30
# Who watches may take at most one part in this many of a process's time, and sees nothing older than so many seconds.
SHARE = 10
LONGEST_KEPT = 15.0
WORTH_KEEPING = 0.1


# What somebody did, or has to do, whether mail waits for it or not; the other waits are of interest to mail that is there.
ALWAYS_TOLD = frozenset({"stopped", "restore", "paused", "domain", "draining"})
# Waits that somebody has set and that end by themselves: mail is held by them as it should be.
AS_SET = frozenset({"quiet", "cap"})


class State(NamedTuple):
    """Mails in one state, and the age of the oldest in seconds. Of what is settled: the last hour, and since the last one."""

    mails: int
    oldest: float | None


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream as it stands now. Ages are in seconds."""

    limits: queries.Limits
    ready: State
    leased: State
    in_flight: State
    accepted: State
    """A call is open: the provider may have taken them, and our books do not say so yet."""
    settled: State
    unknown: State
    held: State
    later: int
    """Waits for another try or for its time."""
    batches: dict[str, int]
    dead_letters: int | None
    """Messages only; people of a campaign stand on its page."""
    per_minute: float
    minutes: Sequence[int]
    """Mails accepted in each of the last minutes, the present one last."""
    answers: dict[str, int]
    """Calls of the last hour by class of answer."""
    last: queries.Last
    workers: int
    waits: Sequence[waits.Wait]
    """Why its mail waits; limits only where there is some."""

    @property
    def name(self) -> str:
        return self.limits.name

    @property
    def is_over_budget(self) -> bool:
        """Say whether its oldest mail waits for longer than it may; what is held as somebody set it may."""
        is_old = self.ready.oldest is not None and self.ready.oldest > self.limits.age_budget
        return is_old and not any(wait.kind in AS_SET for wait in self.waits)

    @property
    def is_stopped(self) -> bool:
        """Say whether nothing at all is sent, of no stream."""
        return any(wait.kind in ("stopped", "restore") for wait in self.waits)


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker of the last day."""

    name: str
    streams: Sequence[str]
    """Empty for all of them."""
    calls: dict[str, int]
    is_woken: bool
    seen: float
    runs: float
    is_alive: bool

    def serves(self, stream: str) -> bool:
        """Say whether it takes mail of a stream."""
        return not self.streams or stream in self.streams


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything at once."""

    streams: Sequence[Stream]
    workers: Sequence[Worker]
    webhooks: dict[str, int]
    """Those of the last hour by type."""
    refusals: dict[str, int]
    webhook_minutes: Sequence[int]
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def alive(self) -> list[Worker]:
        """Return the workers that were seen within the last minute."""
        return [worker for worker in self.workers if worker.is_alive]


def look(*, most: int = queries.MOST) -> Overview:
    """Return how everything stands now; what waits is counted no further than `most`."""
    waiting = {row.stream: row for row in queries.waiting(most=most)}
    states = {(row.stream, row.state): row for row in queries.open_batches()}
    dead, last, why = queries.dead_letters(), queries.last_answers(), waits.every()
    recent = counted.recent()
    found = workers()
    return Overview(
        streams=[
            stream(
                limits,
                waiting=waiting.get(limits.name) or queries.Waiting(limits.name, 0, 0, None),
                states={state: row for (name, state), row in states.items() if name == limits.name},
                dead=dead.get(limits.name),
                last=last.get(limits.name) or queries.Last(limits.name, None, None, None, None, 0),
                recent=[row for row in recent if row.stream == limits.name],
                workers=sum(one.is_alive and one.serves(limits.name) for one in found),
                why=why.get(limits.name, []),
            )
            for limits in queries.limits()
        ],
        workers=found,
        webhooks=summed(recent, WEBHOOK),
        refusals=summed(recent, REFUSED),
        webhook_minutes=by_minute([row for row in recent if row.name.startswith(WEBHOOK)], of="times"),
        notes=[note for note in (queries.stopped(), queries.held_after_restore()) if note],
    )


def recent_look() -> Overview:
    """Return the same, some seconds old where it takes long to find out: many may watch."""
    if isinstance(kept := cache.get("monitoring-overview"), Overview):
        return kept
    started = monotonic()
    found = look()
    taken = monotonic() - started
    if taken > WORTH_KEEPING:
        cache.set("monitoring-overview", found, timeout=min(taken * SHARE, LONGEST_KEPT))
    return found


def stream(
    limits: queries.Limits,
    *,
    waiting: queries.Waiting,
    states: dict[str, queries.Open],
    dead: int | None,
    last: queries.Last,
    recent: Sequence[counted.Minute],
    workers: int,
    why: Sequence[waits.Wait],
) -> Stream:
    """Put together what was found about one stream."""
    leased, in_flight, unknown = (states.get(name) for name in ("leased", "in_flight", "unknown"))
    minutes = by_minute(recent, of="mails")
    second = recent[-1].second if recent else 0.0
    return Stream(
        limits=limits,
        ready=State(waiting.ready, waiting.oldest),
        leased=state(leased),
        in_flight=state(in_flight),
        accepted=state(in_flight),
        settled=State(sum(row.mails for row in recent), last_accepted(last, recent)),
        unknown=state(unknown),
        held=State(unknown.held, unknown.oldest_held) if unknown else State(0, None),
        later=waiting.later,
        batches={
            "open": sum(row.batches for row in (leased, in_flight) if row),
            "unclear": unknown.batches if unknown else 0,
            "held": unknown.held_batches if unknown else 0,
        },
        dead_letters=dead,
        per_minute=round(minutes[-1] + minutes[-2] * (60 - min(second, 60)) / 60, 1),
        minutes=minutes,
        answers=summed(recent, ANSWER),
        last=last,
        workers=workers,
        waits=[wait for wait in why if waiting.ready or waiting.later or wait.kind in ALWAYS_TOLD],
    )


def state(*rows: queries.Open | None) -> State:
    """Add up what is open."""
    found = [row for row in rows if row]
    return State(sum(row.mails for row in found), max((row.oldest for row in found), default=None))


def last_accepted(last: queries.Last, recent: Sequence[counted.Minute]) -> float | None:
    """Return how long ago the provider last took a mail; by the minute where that is longer than the budget."""
    if last.accepted is not None:
        return last.accepted
    return min((row.ago * 60.0 + row.second for row in recent if row.mails), default=None)


def by_minute(rows: Sequence[counted.Minute], *, of: str) -> list[int]:
    """Return the sums of the last minutes, the present one last."""
    sums: Counter[int] = Counter()
    for row in rows:
        sums[row.ago] += row.mails if of == "mails" else row.times
    return [sums[ago] for ago in range(MINUTES - 1, -1, -1)]


def summed(rows: Sequence[counted.Minute], prefix: str) -> dict[str, int]:
    """Return how often each kind of something happened, the commonest first."""
    sums: Counter[str] = Counter()
    for row in rows:
        if row.name.startswith(prefix):
            sums[row.name.removeprefix(prefix)] += row.times
    return dict(sums.most_common())


def workers() -> list[Worker]:
    """Return the workers of the last day, those alive first."""
    return [worker(row) for row in queries.workers()]


def worker(row: queries.Worker) -> Worker:
    """Read what a worker said of itself."""
    doing: dict[str, Any] = json.loads(row.doing) if isinstance(row.doing, str) else row.doing
    streams: list[str] = json.loads(row.streams) if isinstance(row.streams, str) else row.streams
    return Worker(
        name=row.name,
        streams=streams,
        calls=doing.get("calls", {}),
        is_woken=bool(doing.get("woken")),
        seen=row.seen,
        runs=row.runs,
        is_alive=row.is_alive,
    )
