"""A campaign while it goes out and after: numbers, reasons and waits, fresh every few seconds."""

from typing import TYPE_CHECKING, Any, NamedTuple

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import urlencode

from campaigns import progress, reports, silence
from campaigns.admin.words import RECIPIENT, Look
from campaigns.models import Campaign, Recipient
from mailkoenig.lib.clocks import clock, span

if TYPE_CHECKING:
    from campaigns.admin.campaign import CampaignAdmin

Status = Campaign.Status
MOVING = (Status.SCHEDULED, Status.SENDING, Status.PAUSED)
BRANCHES = (
    Recipient.Status.SKIPPED,
    Recipient.Status.FAILED,
    Recipient.Status.UNKNOWN,
    Recipient.Status.BOUNCED,
    Recipient.Status.COMPLAINED,
    Recipient.Status.UNSUBSCRIBED,
)
MEANINGS = {
    Recipient.Status.SKIPPED: "no longer to be mailed when their turn came",
    Recipient.Status.FAILED: "not accepted, and not tried again",
    Recipient.Status.UNKNOWN: "perhaps accepted; nobody sends to them again until that is clear",
    Recipient.Status.BOUNCED: "accepted, but the reader's server refused it",
    Recipient.Status.COMPLAINED: "the reader called it spam",
    Recipient.Status.UNSUBSCRIBED: "the reader left because of it",
}


class Step(NamedTuple):
    """One number of the funnel."""

    name: str
    people: int
    meaning: str
    look: Look
    url: str
    percent: float
    """Of those selected."""


def answer(model_admin: "CampaignAdmin", request: HttpRequest, object_id: str) -> HttpResponse:
    """Return the numbers, and the same as the page shows them."""
    campaign = model_admin.get_object(request, object_id)
    if not model_admin.has_view_permission(request, campaign):
        raise PermissionDenied
    if campaign is None:
        return JsonResponse({"error": "There is no such campaign."}, status=404)
    context = panel(campaign)
    seen: progress.Numbers = context["numbers"]
    response = JsonResponse(
        {
            "status": campaign.status,
            "reason": campaign.status_reason,
            "counts": seen.by_status,
            "selected": seen.selected,
            "accepted": seen.accepted,
            "delivered": seen.delivered,
            "waits": [wait.text for wait, _ in context["waits"]],
            "html": render_to_string("admin/campaigns/campaign/progress.html", context),
        }
    )
    response["Cache-Control"] = "no-store"
    return response


def panel(campaign: Campaign) -> dict[str, Any]:
    """Return what the panel shows."""
    at = progress.look(campaign.pk)
    left = at.remaining(campaign)
    unclear = reports.unknown_batches(campaign.pk) if at.numbers.by_status["unknown"] else []
    return {
        "campaign": campaign,
        "numbers": at.numbers,
        "funnel": funnel(campaign, at.numbers),
        "branches": branches(campaign, at.numbers),
        "reasons": at.reasons,
        "waits": [(wait, lever(campaign, wait.kind)) for wait in progress.waits(campaign, at=at)],
        "unclear": [
            (batch, reverse("admin:campaigns_unclearbatch_change", args=[batch.batch])) for batch in unclear
        ],
        "last_minute": at.pace.last_minute if campaign.status == Status.SENDING else 0,
        "remaining": span(left) if left and campaign.status == Status.SENDING else "",
        "as_of": clock(at.pace.now),
        "silent": silence.words(campaign.pk) if at.numbers.accepted else "",
        "selecting": campaign.status == Status.SENDING and campaign.snapshot_finished_at is None,
        "batches": f"{reverse('admin:campaigns_sendbatch_changelist')}?campaign__id__exact={campaign.pk}",
        "everybody": people(campaign),
    }


def people(campaign: Campaign, status: str = "") -> str:
    """Return where the people of a campaign are listed."""
    query = {"campaign__id__exact": str(campaign.pk)} | ({"status": status} if status else {})
    return f"{reverse('admin:campaigns_recipient_changelist')}?{urlencode(query)}"


def lever(campaign: Campaign, kind: str) -> str:
    """Return where to do something about a wait."""
    if kind in ("domain", "held") and campaign.domain_id:
        return reverse("admin:campaigns_senderdomain_change", args=[campaign.domain_id])
    if kind == "unknown":
        return reverse("admin:campaigns_unclearbatch_changelist")
    if kind in ("stream", "rate"):
        return reverse("admin:campaigns_stream_changelist")
    return ""


def funnel(campaign: Campaign, numbers: progress.Numbers) -> list[Step]:
    """Return the way of a mail from left to right."""
    whole = numbers.selected or 1
    grey, blue, green = Look("grey", "schedule"), Look("blue", "send"), Look("green", "check")
    rows = [
        ("selected", numbers.selected, "on the lists and to be mailed when it began", grey, people(campaign)),
        ("ready", numbers.ready, "wait for a worker", grey, people(campaign, "pending")),
        (
            "leased",
            numbers.leased,
            "held by a worker right now",
            Look("blue", "lock"),
            people(campaign, "sending"),
        ),
        ("accepted", numbers.accepted, "the provider took it", blue, ""),
        ("delivered", numbers.delivered, "the reader's server took it", green, people(campaign, "delivered")),
    ]
    return [
        Step(name, count, meaning, look, url, round(100 * count / whole, 1))
        for name, count, meaning, look, url in rows
    ]


def branches(campaign: Campaign, numbers: progress.Numbers) -> list[Step]:
    """Return where people left that way."""
    whole = numbers.selected or 1
    return [
        Step(
            str(status.label).lower(),
            numbers.by_status[status],
            MEANINGS[status],
            RECIPIENT[status],
            people(campaign, status.value),
            round(100 * numbers.by_status[status] / whole, 1),
        )
        for status in BRANCHES
        if numbers.by_status[status]
    ]
