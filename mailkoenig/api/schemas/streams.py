"""Streams as they stand, in the words of every other page."""

from datetime import datetime
from typing import Annotated, Any

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
    accepted: StateOut = Field(
        description="A call is open: perhaps accepted, and not in our books yet. What stays so is unknown."
    )
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


class SendingOut(Schema):
    stopped: bool
    stopped_at: datetime | None
    stopped_by: str
    reason: str


class GoOnIn(Body):
    reason: str = Field("", max_length=500, description="For the audit trail.")


class LimitsIn(Body):
    concurrency: int | None = Field(None, ge=1, le=1000, description="Calls at a time, over all workers.")
    rate_per_minute: int | None = Field(None, ge=1, le=10_000_000, description="Null for no limit.")


class ChosenIn(Body):
    ids: list[Annotated[int, Field(ge=1, le=2**63 - 1)]] | None = Field(
        None, max_length=1000, description="Messages of this stream; left out for all of it."
    )
    reason: str = Field("", max_length=500, description="For the audit trail.")


class TouchedOut(Schema):
    messages: int = Field(description="How many that was; what is no longer in that state stays as it is.")


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
