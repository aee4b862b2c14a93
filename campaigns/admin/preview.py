"""The mail as a reader sees it: nothing in it runs, nothing is fetched unasked, no link in it is anybody's own."""

from typing import TYPE_CHECKING, NamedTuple

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode

from campaigns import services
from campaigns.calls import sender
from campaigns.content import Compiled, ContentError, Person
from campaigns.models import Campaign
from contacts.models import Contact
from contacts.services import unsubscribe_url
from mailkoenig.lib.addresses import InvalidAddress, normalise

if TYPE_CHECKING:
    from campaigns.admin.campaign import CampaignAdmin

# Nobody's token: the page behind it says that it knows no such link.
INERT = "preview"
SUGGESTIONS = 20
POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src {pictures}; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"


class Reader(NamedTuple):
    """As whom the mail is shown."""

    person: Person
    label: str
    problem: str = ""


def sample() -> Person:
    """Return somebody who does not exist."""
    return Person("alex@example.com", "Alex Example", {}, unsubscribe_url(INERT))


def reader(request: HttpRequest) -> Reader:
    """Return the contact that was asked for, as far as this person may see contacts; else the sample."""
    wanted = request.GET.get("as", "").strip()
    somebody = Reader(sample(), "Alex Example, a made-up reader")
    if not wanted or not may_see_contacts(request):
        return somebody
    try:
        contact = Contact.objects.filter(email=normalise(wanted)).first()
    except InvalidAddress:
        contact = None
    if contact is None:
        return somebody._replace(problem=f"There is no contact {wanted}: it is shown as a made-up reader.")
    person = Person(contact.email, contact.name, contact.attributes, unsubscribe_url(INERT))
    return Reader(person, f"{contact.name} <{contact.email}>" if contact.name else contact.email)


def may_see_contacts(request: HttpRequest) -> bool:
    """Say whether a person's data may be shown."""
    return bool(request.user.has_perm("contacts.view_contact"))


def page(model_admin: "CampaignAdmin", request: HttpRequest, object_id: str) -> HttpResponse:
    """Show subject, preheader, both parts, and a form for as whom."""
    campaign = found(model_admin, request, object_id)
    if campaign is None:
        return model_admin.missing(request, object_id)
    shown, mail, problem = reader(request), None, ""
    try:
        mail = services.compiled(campaign).render(shown.person)
    except ContentError as error:
        problem = str(error)
    query = {"as": request.GET.get("as", "")} | ({"pictures": "1"} if "pictures" in request.GET else {})
    frame = reverse("admin:campaigns_campaign_preview_html", args=[campaign.pk])
    return TemplateResponse(
        request,
        "admin/campaigns/campaign/preview.html",
        {
            **model_admin.admin_site.each_context(request),
            "opts": model_admin.opts,
            "title": f"Preview: {campaign}",
            "campaign": campaign,
            "original": campaign,
            "reader": shown,
            "mail": mail,
            "problem": problem,
            "preheader": preheader(campaign.preheader, shown.person),
            "sender": sender(campaign, campaign.domain) if campaign.domain else campaign.from_name,
            "frame": f"{frame}?{urlencode(query)}",
            "wanted": query["as"],
            "has_pictures": "pictures" in request.GET,
            "may_choose": may_see_contacts(request),
            "suggestions": suggestions(campaign) if may_see_contacts(request) else [],
            "back": reverse("admin:campaigns_campaign_change", args=[campaign.pk]),
        },
    )


def html(model_admin: "CampaignAdmin", request: HttpRequest, object_id: str) -> HttpResponse:
    """Return the HTML part alone, for the frame: in a world of its own, whose links lead nowhere."""
    campaign = found(model_admin, request, object_id)
    if campaign is None:
        return HttpResponse("There is no such campaign.", status=404, content_type="text/plain")
    try:
        text = services.compiled(campaign).render(reader(request).person).html
        # Without leave to open windows a link that wants a new one does nothing.
        response = HttpResponse(text.replace("<head>", '<head><base target="_blank">', 1))
    except ContentError as error:
        response = HttpResponse(str(error), content_type="text/plain; charset=utf-8")
    pictures = "https: http: data:" if "pictures" in request.GET else "data:"
    response["Content-Security-Policy"] = POLICY.format(pictures=pictures)
    response["Referrer-Policy"] = "no-referrer"
    response["Cache-Control"] = "no-store"
    return response


def found(model_admin: "CampaignAdmin", request: HttpRequest, object_id: str) -> Campaign | None:
    """Return the campaign if this person may see it."""
    campaign: Campaign | None = model_admin.get_object(request, object_id)
    if not model_admin.has_view_permission(request, campaign):
        raise PermissionDenied
    return campaign


def preheader(text: str, person: Person) -> str:
    """Return a preheader as the person reads it."""
    if not text:
        return ""
    try:
        return as_subject(text).render(person).subject
    except ContentError:
        return text


def as_subject(text: str) -> Compiled:
    """Compile one line by itself."""
    return services.compiled(Campaign(subject=text, body="-", body_format="markdown"))


def suggestions(campaign: Campaign) -> list[Contact]:
    """Return a few people of the campaign's lists, to be shown the mail as."""
    lists = list(campaign.lists.values_list("pk", flat=True)[:3])
    if not lists:
        return []
    return list(
        Contact.objects.filter(memberships__list=lists[0]).order_by("memberships__contact_id")[:SUGGESTIONS]
    )
