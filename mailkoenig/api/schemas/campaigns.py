"""Campaigns, their numbers in the words of every other page."""

from datetime import datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import Field, WithJsonSchema

from campaigns.models import Campaign
from campaigns.progress import Progress
from mailkoenig.api.schemas.base import PAGE, Body, Cursor, Flag, Limit, Moment

# Written out: three models have a Status, and a description keeps one schema of a name.
CampaignStatus = Annotated[
    Campaign.Status, WithJsonSchema({"type": "string", "enum": Campaign.Status.values})
]


class CampaignIn(Body):
    """A draft. It goes out by `send` or `schedule` only."""

    name: str = Field(min_length=1, max_length=200, examples=["October news"])
    subject: str = Field(min_length=1, max_length=250, description="May hold merge tags.")
    preheader: str = Field("", max_length=250)
    body: str = Field(min_length=1, max_length=900_000, description="May hold merge tags.")
    body_format: Campaign.BodyFormat = Campaign.BodyFormat.MARKDOWN
    lists: list[int] = Field([], max_length=200, description="Ids of lists.")
    domain: str = Field("", max_length=253, description="A sender domain by name; empty for the shared one.")
    from_name: str = Field("", max_length=100)
    from_email: str = Field("", max_length=254)
    reply_to: str = Field("", max_length=254)
    track_opens: Flag = True
    track_clicks: Flag = True


class ScheduleIn(Body):
    at: Moment


class ReasonIn(Body):
    reason: str = Field(min_length=1, max_length=500)


class NumbersOut(Schema):
    """People. `accepted`: the provider took it. `delivered`: the reader's server took it. Opened and clicked: by people."""

    selected: int
    ready: int
    leased: int
    accepted: int
    delivered: int
    opened: int
    clicked: int
    machine_opened: int
    by_status: dict[str, int]


class CampaignOut(Schema):
    id: int
    name: str
    subject: str
    status: CampaignStatus
    status_reason: str
    domain: str | None
    lists: list[int]
    scheduled_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    created_at: datetime
    numbers: NumbersOut


class ReasonOut(Schema):
    status: str
    reason: str
    people: int


class ReportOut(Schema):
    """What came of it. Of a large campaign the numbers may be some seconds old."""

    id: int
    status: CampaignStatus
    numbers: NumbersOut
    reasons: list[ReasonOut] = Field(description="Why people are where they are, the commonest.")
    last_minute: int = Field(description="Accepted in the last minute.")


class CampaignRow(Schema):
    id: int
    name: str
    status: CampaignStatus
    status_reason: str
    scheduled_at: datetime | None
    created_at: datetime


class CampaignFilters(Body):
    status: CampaignStatus | None = None
    limit: Limit = PAGE
    cursor: Cursor | None = None


class CampaignPage(Schema):
    """The newest first."""

    items: list[CampaignRow]
    next: str | None


def row(campaign: Campaign) -> dict[str, Any]:
    """Return a line of the list."""
    names = ("name", "status", "status_reason", "scheduled_at", "created_at")
    return {"id": campaign.pk, **{name: getattr(campaign, name) for name in names}}


def shown(campaign: Campaign, *, at: Progress) -> dict[str, Any]:
    """Return a campaign as callers see it."""
    return {
        **row(campaign),
        "subject": campaign.subject,
        "domain": campaign.domain.name if campaign.domain else None,
        "lists": list(campaign.lists.order_by("pk").values_list("pk", flat=True)),
        "started_at": campaign.started_at,
        "finished_at": campaign.finished_at,
        "numbers": at.numbers._asdict(),
    }


def report(campaign: Campaign, *, at: Progress) -> dict[str, Any]:
    """Return what came of a campaign."""
    return {
        "id": campaign.pk,
        "status": campaign.status,
        "numbers": at.numbers._asdict(),
        "reasons": [
            {"status": each.status, "reason": each.reason, "people": each.people} for each in at.reasons
        ],
        "last_minute": at.pace.last_minute,
    }
