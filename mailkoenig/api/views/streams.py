"""Streams: how they stand, and the levers."""

from typing import Any

from django.db import transaction
from django.http import HttpRequest
from ninja import Router

from campaigns import services
from campaigns.models import Message, Stream
from mailkoenig.api.door import check_stream, holder_of
from mailkoenig.api.problems import Problem
from mailkoenig.api.schemas.streams import (
    ChosenIn,
    LimitsIn,
    PauseIn,
    StreamOut,
    StreamsOut,
    TouchedOut,
    shown,
)
from mailkoenig.monitoring import overview

router = Router(tags=["streams"])


@router.get("", response=StreamsOut, operation_id="list_streams")
def many(request: HttpRequest) -> dict[str, Any]:
    """Show the streams that the token holds; on a busy site some seconds old."""
    held = holder_of(request).streams
    return {"items": [shown(stream) for stream in overview.recent_look().streams if stream.name in held]}


@router.get("/{name}", response=StreamOut, operation_id="get_stream")
def get(request: HttpRequest, name: str) -> dict[str, Any]:
    """Show how a stream stands."""
    check_stream(holder_of(request), name)
    return one(name)


@router.post("/{name}/pause", response=StreamOut, operation_id="pause_stream")
def pause(request: HttpRequest, name: str, why: PauseIn) -> dict[str, Any]:
    """Stop a stream after the calls that are open; what is handed in meanwhile waits. Paused twice is paused."""
    stream, by = held(request, name)
    services.pause_stream(stream, reason=why.reason, by=by)
    return one(name)


@router.post("/{name}/resume", response=StreamOut, operation_id="resume_stream")
def resume(request: HttpRequest, name: str) -> dict[str, Any]:
    """Let a stream go on."""
    stream, by = held(request, name)
    services.resume_stream(stream, by=by)
    return one(name)


@router.post("/{name}/drain", response=StreamOut, operation_id="drain_stream")
def drain(request: HttpRequest, name: str) -> dict[str, Any]:
    """Send what a stream holds and refuse what is handed in meanwhile."""
    stream, by = held(request, name)
    services.drain_stream(stream, by=by)
    return one(name)


@router.post("/{name}/undrain", response=StreamOut, operation_id="undrain_stream")
def undrain(request: HttpRequest, name: str) -> dict[str, Any]:
    """Take new mail again."""
    stream, by = held(request, name)
    services.undrain_stream(stream, by=by)
    return one(name)


@router.patch("/{name}", response=StreamOut, operation_id="limit_stream")
def limit(request: HttpRequest, name: str, limits: LimitsIn) -> dict[str, Any]:
    """Set calls at a time, or mails a minute (null for no limit), from the next call on. What is left out stays."""
    stream, by = held(request, name)
    given = limits.model_fields_set
    with transaction.atomic():
        if "concurrency" in given and limits.concurrency is not None:
            services.set_concurrency(stream, limits.concurrency, by=by)
        if "rate_per_minute" in given:
            services.set_rate(stream, limits.rate_per_minute, by=by)
    return one(name)


@router.post("/{name}/requeue", response=TouchedOut, operation_id="requeue_dead_letters")
def requeue(request: HttpRequest, name: str, chosen: ChosenIn) -> dict[str, Any]:
    """Make dead letters ready again, with new attempts: those that are named, or all of the stream."""
    stream, by = held(request, name)
    check_transactional(stream)
    if chosen.ids is None:
        return {"messages": services.requeue_messages(stream=stream, by=by, reason=chosen.reason)}
    own = Message.objects.filter(stream=stream, pk__in=chosen.ids).values_list("pk", flat=True)
    return {"messages": services.requeue_messages(ids=list(own), by=by, reason=chosen.reason)}


@router.post("/{name}/cancel", response=TouchedOut, operation_id="cancel_ready_messages")
def cancel(request: HttpRequest, name: str, chosen: ChosenIn) -> dict[str, Any]:
    """Take back what is ready: the messages that are named, or all of the stream."""
    stream, by = held(request, name)
    check_transactional(stream)
    if chosen.ids is None:
        return {"messages": services.cancel_ready(stream, by=by, reason=chosen.reason)}
    own = Message.objects.filter(stream=stream, pk__in=chosen.ids).values_list("pk", flat=True)
    return {"messages": services.cancel_messages(list(own), by=by, reason=chosen.reason)}


def held(request: HttpRequest, name: str) -> tuple[Stream, str]:
    """Return a stream that the token holds, and who that is for the audit trail."""
    holder = holder_of(request)
    check_stream(holder, name)
    return Stream.objects.get(name=name), f"API token {holder.name}"


def check_transactional(stream: Stream) -> None:
    """Raise Problem where a stream has no messages."""
    if stream.kind != Stream.Kind.TRANSACTIONAL:
        raise Problem(
            422,
            f"The stream {stream} is for campaigns and has no messages: cancel the campaign instead.",
            kind="refused",
        )


def one(name: str) -> dict[str, Any]:
    """Return a stream as it stands this moment."""
    return next(shown(stream) for stream in overview.look().streams if stream.name == name)
