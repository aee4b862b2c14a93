"""What came back, for callers who keep books of their own."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router

from events.models import Event
from mailkoenig.api import sql
from mailkoenig.api.door import holder_of
from mailkoenig.api.schemas.events import EventFilters, EventPage, shown

router = Router(tags=["events"])
MOST_LOOKED_AT = 5_000


@router.get("", response=EventPage, operation_id="list_events")
def many(request: HttpRequest, filters: Query[EventFilters]) -> dict[str, Any]:
    """List what happened to mail of the token's streams, the oldest first, about a second after it was recorded."""
    holder = holder_of(request)
    after = int(filters.cursor or 0)
    look = sql.events(
        after=after,
        campaigns=holder.holds_campaigns,
        streams=holder.streams,
        limit=filters.limit,
        most=MOST_LOOKED_AT,
    )
    is_full = len(look.ids) == filters.limit
    last = look.ids[-1] if is_full else look.last or after
    rows = (
        Event.objects.select_related("message", "campaign_recipient")
        .only(
            "event_type", "severity", "reason", "address", "batch_id", "occurred_at", "received_at",
            "message__idempotency_key", "campaign_recipient__campaign_id",
        )
        .in_bulk(look.ids)
    )  # fmt: skip
    return {
        "items": [shown(rows[id]) for id in look.ids if id in rows],
        "next": str(last),
        "has_more": is_full or look.looked_at == MOST_LOOKED_AT,
    }
