"""The campaigns of the first page: what goes out now and what came before. `mailkoenig.monitoring.home` adds the streams."""

from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from campaigns import progress
from campaigns.admin.words import CAMPAIGN, badge, when
from campaigns.models import Campaign

Status = Campaign.Status
MOST = 8


class InFlight(NamedTuple):
    """A campaign in motion."""

    campaign: Campaign
    url: str
    state: SafeString
    numbers: progress.Numbers | None
    percent: float
    waits: list[str]


class Row(NamedTuple):
    """A line of a short list."""

    name: str
    url: str
    state: SafeString
    note: str | SafeString


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add what this person may see."""
    may_see = request.user.has_perm
    if may_see("campaigns.view_campaign") or may_see("campaigns.change_campaign"):
        context |= {
            "in_flight": [in_flight(campaign) for campaign in moving()],
            "last": [last(campaign) for campaign in recent()],
            "has_campaigns": True,
            "may_add": may_see("campaigns.add_campaign"),
        }
    return context


def moving() -> list[Campaign]:
    """Return the campaigns that go out, or wait to."""
    found = Campaign.objects.filter(status__in=[Status.SENDING, Status.PAUSED, Status.SCHEDULED])
    return list(found.defer("body").select_related("domain").order_by("-id")[:MOST])


def recent() -> list[Campaign]:
    """Return the campaigns that ended last, or are being written."""
    found = Campaign.objects.filter(status__in=[Status.DRAFT, Status.SENT, Status.CANCELLED])
    return list(found.defer("body").order_by("-id")[:MOST])


def campaign_url(campaign: Campaign) -> str:
    return reverse("admin:campaigns_campaign_change", args=[campaign.pk])


def state_of(campaign: Campaign) -> SafeString:
    status = Status(campaign.status)
    return badge(str(status.label), CAMPAIGN[status])


def in_flight(campaign: Campaign) -> InFlight:
    """Look at one campaign in motion."""
    if campaign.status == Status.SCHEDULED:
        return InFlight(campaign, campaign_url(campaign), state_of(campaign), None, 0, [])
    at = progress.look(campaign.pk)
    percent = round(100 * at.numbers.accepted / (at.numbers.selected or 1), 1)
    waits = [wait.text for wait in progress.waits(campaign, at=at)]
    return InFlight(campaign, campaign_url(campaign), state_of(campaign), at.numbers, percent, waits)


def last(campaign: Campaign) -> Row:
    """Return the line of a campaign that is not in motion."""
    return Row(
        campaign.name,
        campaign_url(campaign),
        state_of(campaign),
        when(campaign.finished_at or campaign.updated_at) or "",
    )
