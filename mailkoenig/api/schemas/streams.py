"""Streams as they stand, in the words of every other page."""

from datetime import datetime
from typing import Any

from ninja import Schema
from pydantic import Field

from campaigns.models import Stream
from mailkoenig.api.schemas.base import Body
from mailkoenig.monitoring import overview


class StateOut(Schema):
    """Mails in one state, and the age of the oldest in seconds."""

    mails: int
    oldest: float | None


class WaitOut(Schema):
    """Why mail of the stream waits; `until` when that ends by itself."""

    kind: str
    text: str
    until: datetime | None


class StreamOut(Schema):
    name: str
    kind: Stream.Kind
    paused: bool
    paused_reason: str
    paused_by: str
    draining: bool
    concurrency: int
    rate_per_minute: int | None
    age_budget: float = Field(description="Seconds; somebody is called when the oldest ready mail is older.")
    is_over_budget: bool
    ready: StateOut
    leased: StateOut
    accepted: StateOut = Field(description="In flight or perhaps accepted: no result yet.")
    settled: StateOut = Field(description="Within the last hour.")
    unknown: StateOut
    later: int = Field(description="Waits for another try or for its time.")
    dead_letters: int | None
    per_minute: float
    last_answer: str = Field(description="The class of the provider's last answer.")
    workers: int
    waits: list[WaitOut]


class StreamsOut(Schema):
    items: list[StreamOut]


class PauseIn(Body):
    reason: str = Field(min_length=1, max_length=500, examples=["The provider asks us to wait."])


def shown(stream: overview.Stream) -> dict[str, Any]:
    """Return a stream as callers see it."""
    limits = stream.limits
    names = (
        "name",
        "kind",
        "paused",
        "paused_reason",
        "paused_by",
        "draining",
        "concurrency",
        "rate_per_minute",
    )
    states = ("ready", "leased", "accepted", "settled", "unknown")
    return {
        **{name: getattr(limits, name) for name in (*names, "age_budget")},
        **{name: getattr(stream, name)._asdict() for name in states},
        "is_over_budget": stream.is_over_budget,
        "later": stream.later,
        "dead_letters": stream.dead_letters,
        "per_minute": stream.per_minute,
        "last_answer": stream.last.answer_class or "",
        "workers": stream.workers,
        "waits": [wait._asdict() for wait in stream.waits],
    }
