"""All sending: whether somebody stopped it, and the lever that does."""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from campaigns import services
from mailkoenig.api.door import check_sending, holder_of
from mailkoenig.api.schemas.streams import GoOnIn, PauseIn, SendingOut

router = Router(tags=["sending"])


@router.get("", response=SendingOut, operation_id="get_sending")
def get(request: HttpRequest) -> dict[str, Any]:
    """Show whether all sending is stopped, by whom and why."""
    return now()


@router.post("/stop", response=SendingOut, operation_id="stop_all_sending")
def stop(request: HttpRequest, why: PauseIn) -> dict[str, Any]:
    """Stop everything within one batch; what is handed in meanwhile waits. Stopped twice keeps the first reason."""
    services.stop_everything(reason=why.reason, by=by(request))
    return now()


@router.post("/go-on", response=SendingOut, operation_id="go_on_sending")
def go_on(request: HttpRequest, why: GoOnIn) -> dict[str, Any]:
    """End the stop; a stream that is paused by itself stays paused."""
    services.go_on(by=by(request), reason=why.reason)
    return now()


def by(request: HttpRequest) -> str:
    """Return who that is for the audit trail."""
    holder = holder_of(request)
    check_sending(holder)
    return f"API token {holder.name}"


def now() -> dict[str, Any]:
    stopped = services.stopped()
    return {
        "stopped": stopped is not None,
        "stopped_at": stopped and stopped.stopped_at,
        "stopped_by": stopped.stopped_by if stopped else "",
        "reason": stopped.stopped_reason if stopped else "",
    }
