"""Streams: how they stand, and the lever."""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from campaigns import services
from campaigns.models import Stream
from mailkoenig.api.door import check_stream, holder_of
from mailkoenig.api.schemas.streams import PauseIn, StreamOut, StreamsOut, shown
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
    holder = holder_of(request)
    check_stream(holder, name)
    services.pause_stream(Stream.objects.get(name=name), reason=why.reason, by=f"API token {holder.name}")
    return one(name)


@router.post("/{name}/resume", response=StreamOut, operation_id="resume_stream")
def resume(request: HttpRequest, name: str) -> dict[str, Any]:
    """Let a stream go on."""
    holder = holder_of(request)
    check_stream(holder, name)
    services.resume_stream(Stream.objects.get(name=name), by=f"API token {holder.name}")
    return one(name)


def one(name: str) -> dict[str, Any]:
    """Return a stream as it stands this moment."""
    return next(shown(stream) for stream in overview.look().streams if stream.name == name)
