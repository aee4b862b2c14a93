"""What a person does to a campaign: each act says first what will happen, happens once, and leaves a trace."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from campaigns import audience, services
from campaigns.calls import sender
from campaigns.forms import ReasonForm, ScheduleForm, SendForm
from campaigns.models import Campaign, SenderDomain
from campaigns.progress import look
from mailkoenig.lib.clocks import clock, offset
from mailkoenig.lib.counting import people

if TYPE_CHECKING:
    from campaigns.admin.campaign import CampaignAdmin

Status = Campaign.Status


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked before an act."""

    sentences: list[str]
    after: str
    """Whether it can be taken back."""
    problems: list[str] = field(default_factory=list)
    """Why it can't be done now, each with what to do."""
    form: forms.Form | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that may be done to a campaign."""

    title: str
    button: str
    icon: str
    sources: tuple[str, ...]
    ask: Callable[[Campaign, HttpRequest], Question]
    do: Callable[[Campaign, Question, str], str]
    """Does it as somebody's act and returns what happened."""
    is_danger: bool = False
    is_primary: bool = False


def view(model_admin: "CampaignAdmin", request: HttpRequest, object_id: str, *, name: str) -> HttpResponse:
    """Ask, and on POST do; a second POST finds it done and changes nothing."""
    act = ACTS[name]
    campaign = model_admin.get_object(request, object_id)
    if campaign is None:
        return model_admin.missing(request, object_id)
    if not model_admin.may_send(request, campaign):
        raise PermissionDenied
    home = reverse("admin:campaigns_campaign_change", args=[campaign.pk])
    if campaign.status not in act.sources:
        messages.info(request, f"It is {campaign.get_status_display().lower()}: nothing was changed.")
        return HttpResponseRedirect(home)
    question = act.ask(campaign, request)
    is_meant = request.method == "POST" and not question.problems
    if is_meant and (question.form is None or question.form.is_valid()):
        return perform(model_admin, request, campaign, act, question, home)
    return TemplateResponse(
        request,
        "admin/campaigns/campaign/confirm.html",
        {
            **model_admin.admin_site.each_context(request),
            "opts": model_admin.opts,
            "title": f"{act.title}: {campaign}",
            "campaign": campaign,
            "original": campaign,
            "act": act,
            "question": question,
            "back": home,
        },
    )


def perform(
    model_admin: "CampaignAdmin",
    request: HttpRequest,
    campaign: Campaign,
    act: Act,
    question: Question,
    home: str,
) -> HttpResponse:
    """Do it, and say so."""
    try:
        happened = act.do(campaign, question, request.user.get_username())
    except services.NotSendable as refused:
        messages.error(request, str(refused))
        return HttpResponseRedirect(home)
    messages.success(request, happened)
    return HttpResponseRedirect(home)


def problems(campaign: Campaign) -> list[str]:
    """Return everything that keeps a campaign from going out."""
    return [
        *services.sender_problems(campaign),
        *services.audience_problems(campaign),
        *services.content_problems(campaign),
    ]


def audience_sentences(campaign: Campaign, found: audience.Audience | None, *, is_now: bool) -> list[str]:
    """Say who gets it from whom, and who does not."""
    who = f"{people(found.people)}" if found else "everybody on its lists (too many to count here)"
    origin = sender(campaign, campaign.domain) if campaign.domain else "nobody yet"
    sentences = [
        f"Send “{campaign}” from {origin} to {who} now."
        if is_now
        else f"It goes from {origin} to {who}, if it started now."
    ]
    if found and found.out:
        why = ", ".join(f"{count:,} {reason}" for reason, count in found.left_out)
        sentences.append(f"{found.out:,} on its lists {'is' if found.out == 1 else 'are'} left out: {why}.")
    sentences += [domain_sentence(campaign.domain)] if campaign.domain else []
    return [sentence for sentence in sentences if sentence]


def domain_sentence(domain: SenderDomain) -> str:
    """Say what the domain waits for, if it does."""
    if not domain.held_until:
        return ""
    return f"{domain} was asked to wait until {clock(domain.held_until)}; the sending begins after that."


def ask_send(campaign: Campaign, request: HttpRequest) -> Question:
    stops = problems(campaign)
    if stops:
        return Question([], "", problems=stops)
    found = audience.count(campaign)
    if found is not None and not found.people:
        return Question([], "", problems=["Nobody on its lists can be mailed: all of them are left out."])
    expected = f"{found.people:,}" if found else campaign.name
    form = SendForm(request.POST or None, expected=expected, is_number=found is not None)
    return Question(
        audience_sentences(campaign, found, is_now=True),
        "You can pause or cancel it while it goes out; what the provider has accepted can't be called back.",
        form=form,
    )


def do_send(campaign: Campaign, question: Question, by: str) -> str:
    services.start(campaign, by=by)
    expected = question.form.expected if isinstance(question.form, SendForm) else "all"
    return f"Sending of “{campaign}” began: {expected} selected at the time of asking."


def ask_schedule(campaign: Campaign, request: HttpRequest) -> Question:
    stops = problems(campaign)
    if stops:
        return Question([], "", problems=stops)
    initial = {"at": campaign.scheduled_at} if campaign.scheduled_at else {}
    found = audience.count(campaign)
    return Question(
        [
            f"“{campaign}” starts by itself at the time you choose.",
            *audience_sentences(campaign, found, is_now=False),
        ],
        "Until then you can change it, move it or make it a draft again. Who is on the lists when it starts gets it.",
        form=ScheduleForm(request.POST or None, initial=initial),
    )


def do_schedule(campaign: Campaign, question: Question, by: str) -> str:
    if question.form is None:
        raise services.NotSendable("There is no time to start at: choose one.")
    at = question.form.cleaned_data["at"]
    services.schedule(campaign, at=at, by=by)
    return f"“{campaign}” starts on {at:%Y-%m-%d at %H:%M} ({at.tzinfo}, {offset(at)})."


def ask_unschedule(campaign: Campaign, request: HttpRequest) -> Question:
    return Question(
        [f"Make “{campaign}” a draft again: it does not start by itself."], "Nobody has got it yet."
    )


def do_unschedule(campaign: Campaign, question: Question, by: str) -> str:
    services.unschedule(campaign, by=by)
    return f"“{campaign}” is a draft again and does not start by itself."


def progress_sentence(campaign: Campaign) -> str:
    """Say how far it is."""
    at = look(campaign.pk).numbers
    return f"{at.accepted:,} of {people(at.selected)} selected have been accepted by the provider."


def ask_pause(campaign: Campaign, request: HttpRequest) -> Question:
    return Question(
        [f"Pause “{campaign}”.", progress_sentence(campaign)],
        "Calls that are open are finished first. Who is left keeps their place until you resume; nobody is lost.",
    )


def do_pause(campaign: Campaign, question: Question, by: str) -> str:
    services.pause(campaign, by=by)
    return f"“{campaign}” is paused. Who is left keeps their place."


def ask_resume(campaign: Campaign, request: HttpRequest) -> Question:
    return Question(
        [f"Go on sending “{campaign}” to those who are left.", progress_sentence(campaign)],
        "Nobody gets it again. You can pause it any time.",
        problems=problems(campaign),
    )


def do_resume(campaign: Campaign, question: Question, by: str) -> str:
    services.resume(campaign, by=by)
    return f"“{campaign}” goes on."


def ask_cancel(campaign: Campaign, request: HttpRequest) -> Question:
    sentences = [f"End “{campaign}” for good."]
    if campaign.status != Status.SCHEDULED:
        sentences.append(progress_sentence(campaign))
    return Question(
        sentences,
        "Who has not got it does not get it. This can't be taken back; to stop for a while, pause it instead.",
        form=ReasonForm(request.POST or None, shown="shown on its page and kept in the audit trail"),
    )


def do_cancel(campaign: Campaign, question: Question, by: str) -> str:
    reason = question.form.cleaned_data["reason"] if question.form else ""
    services.cancel(campaign, reason=reason, by=by)
    return f"“{campaign}” is cancelled. Who had not got it does not get it."


WRITTEN = (Status.DRAFT, Status.SCHEDULED)
ACTS: dict[str, Act] = {
    "send": Act("Send now", "Send", "send", WRITTEN, ask_send, do_send, is_primary=True),
    "schedule": Act("Schedule", "Schedule", "schedule", WRITTEN, ask_schedule, do_schedule),
    "unschedule": Act(
        "Unschedule", "Make it a draft", "edit", (Status.SCHEDULED,), ask_unschedule, do_unschedule
    ),
    "pause": Act("Pause", "Pause", "pause", (Status.SENDING,), ask_pause, do_pause, is_primary=True),
    "resume": Act("Resume", "Resume", "play_arrow", (Status.PAUSED,), ask_resume, do_resume, is_primary=True),
    "cancel": Act(
        "Cancel sending",
        "End it for good",
        "block",
        (Status.SCHEDULED, Status.SENDING, Status.PAUSED),
        ask_cancel,
        do_cancel,
        is_danger=True,
    ),
}


def possible(campaign: Campaign) -> list[tuple[str, Act]]:
    """Return the acts that a campaign's state allows, the next step first."""
    return sorted(
        ((name, act) for name, act in ACTS.items() if campaign.status in act.sources),
        key=lambda pair: (not pair[1].is_primary, pair[1].is_danger),
    )


def urls(model_admin: "CampaignAdmin") -> list[tuple[str, str, Callable[..., Any]]]:
    """Return path, name and view of each act."""

    def act_view(name: str) -> Callable[..., HttpResponse]:
        def run(request: HttpRequest, object_id: str) -> HttpResponse:
            return view(model_admin, request, object_id, name=name)

        return run

    return [(f"<path:object_id>/{name}/", f"campaigns_campaign_{name}", act_view(name)) for name in ACTS]
