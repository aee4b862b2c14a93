"""Campaigns, for tokens that hold a stream of campaigns."""

from typing import Any

from django.http import Http404, HttpRequest
from ninja import Query, Router, Status

from campaigns import services
from campaigns.forms import CampaignForm
from campaigns.models import Campaign, SenderDomain
from campaigns.progress import look
from mailkoenig.api.door import check_campaigns, holder_of
from mailkoenig.api.problems import Problem
from mailkoenig.api.schemas.campaigns import (
    CampaignFilters,
    CampaignIn,
    CampaignOut,
    CampaignPage,
    ReasonIn,
    ReportOut,
    ScheduleIn,
    report,
    row,
    shown,
)

router = Router(tags=["campaigns"])
LAST = 2**63 - 1


@router.get("", response=CampaignPage, operation_id="list_campaigns")
def many(request: HttpRequest, filters: Query[CampaignFilters]) -> dict[str, Any]:
    """List campaigns, the newest first."""
    check_campaigns(holder_of(request))
    found = Campaign.objects.filter(pk__lt=int(filters.cursor or LAST)).order_by("-pk")
    if filters.status:
        found = found.filter(status=filters.status)
    items = [row(campaign) for campaign in found[: filters.limit]]
    return {"items": items, "next": str(items[-1]["id"]) if len(items) == filters.limit else None}


@router.post("", response={201: CampaignOut}, operation_id="create_campaign")
def create(request: HttpRequest, campaign: CampaignIn) -> Status[dict[str, Any]]:
    """Make a draft. What can't be sent as it is written is refused, with the field, line and tag."""
    check_campaigns(holder_of(request))
    form = CampaignForm({**campaign.model_dump(), "domain": domain(campaign.domain)})
    if not form.is_valid():
        errors = [(name, str(text)) for name, texts in form.errors.items() for text in texts]
        detail = " ".join(text for _, text in errors[:3])
        raise Problem(422, detail, kind="refused", errors=[(name.strip("_"), text) for name, text in errors])
    return Status(201, state(form.save()))


def domain(name: str) -> int | None:
    """Return the id of a sender domain."""
    if not name:
        return None
    found = SenderDomain.objects.filter(name=name.lower()).first()
    if found is None:
        raise Problem.of_field("domain", "There is no such sender domain: use one of those in the admin.")
    return found.pk


@router.get("/{int:id}", response=CampaignOut, operation_id="get_campaign")
def get(request: HttpRequest, id: int) -> dict[str, Any]:
    """Show a campaign and how far it is."""
    return state(one(request, id))


@router.get("/{int:id}/report", response=ReportOut, operation_id="get_campaign_report")
def get_report(request: HttpRequest, id: int) -> dict[str, Any]:
    """Show what came of a campaign."""
    campaign = one(request, id)
    return report(campaign, at=look(campaign.pk))


@router.post("/{int:id}/send", response=CampaignOut, operation_id="send_campaign")
def send(request: HttpRequest, id: int) -> dict[str, Any]:
    """Send now. 409 with every reason why it can't go out."""
    campaign = one(request, id)
    services.start(campaign, by=who(request))
    return state(campaign)


@router.post("/{int:id}/schedule", response=CampaignOut, operation_id="schedule_campaign")
def schedule(request: HttpRequest, id: int, when: ScheduleIn) -> dict[str, Any]:
    """Send at a moment to come."""
    campaign = one(request, id)
    services.schedule(campaign, at=when.at, by=who(request))
    return state(campaign)


@router.post("/{int:id}/pause", response=CampaignOut, operation_id="pause_campaign")
def pause(request: HttpRequest, id: int, why: ReasonIn) -> dict[str, Any]:
    """Stop after the calls that are open; who is left keeps their place."""
    campaign = one(request, id)
    services.pause(campaign, reason=why.reason, by=who(request))
    return state(campaign)


@router.post("/{int:id}/resume", response=CampaignOut, operation_id="resume_campaign")
def resume(request: HttpRequest, id: int) -> dict[str, Any]:
    """Go on with who is left; nobody gets it again."""
    campaign = one(request, id)
    services.resume(campaign, by=who(request))
    return state(campaign)


@router.post("/{int:id}/cancel", response=CampaignOut, operation_id="cancel_campaign")
def cancel(request: HttpRequest, id: int, why: ReasonIn) -> dict[str, Any]:
    """End it for good; who has not got it does not get it."""
    campaign = one(request, id)
    services.cancel(campaign, reason=why.reason, by=who(request))
    return state(campaign)


def one(request: HttpRequest, id: int) -> Campaign:
    """Return the campaign with this id."""
    check_campaigns(holder_of(request))
    found = Campaign.objects.select_related("domain").filter(pk=id).first()
    if found is None:
        raise Http404("There is no such campaign.")
    return found


def who(request: HttpRequest) -> str:
    """Return the name that an act stands under in the audit trail."""
    return f"API token {holder_of(request).name}"


def state(campaign: Campaign) -> dict[str, Any]:
    return shown(campaign, at=look(campaign.pk))
