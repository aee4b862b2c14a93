"""What came back from the provider."""

from datetime import datetime
from typing import Any
from uuid import UUID

from ninja import Schema
from pydantic import Field

from events.models import Event
from mailkoenig.api.schemas.base import PAGE, Body, Cursor, Limit


class EventOut(Schema):
    """One thing that happened to one mail; of a message or of a campaign."""

    id: int
    type: str = Field(examples=["delivered"])
    severity: str
    reason: str
    address: str
    message_id: int | None
    idempotency_key: str | None
    campaign_id: int | None
    batch: UUID | None
    occurred_at: datetime
    received_at: datetime


class EventFilters(Body):
    limit: Limit = PAGE
    cursor: Cursor | None = None


class EventPage(Schema):
    """The oldest first. Keep `next` and ask again with it later: it never skips one. A page may hold fewer than `limit`."""

    items: list[EventOut]
    next: str = Field(description="The cursor for what comes after; also where nothing has come yet.")
    has_more: bool = Field(description="There is more already: go on at once.")


def shown(event: Event) -> dict[str, Any]:
    """Return an event as callers see it; what it is about may be gone."""
    return {
        "id": event.pk,
        "type": event.event_type,
        "severity": event.severity,
        "reason": event.reason,
        "address": event.address,
        "message_id": event.message_id,
        "idempotency_key": event.message.idempotency_key if event.message_id and event.message else None,
        "campaign_id": event.campaign_recipient.campaign_id
        if event.campaign_recipient_id and event.campaign_recipient
        else None,
        "batch": event.batch_id,
        "occurred_at": event.occurred_at,
        "received_at": event.received_at,
    }
