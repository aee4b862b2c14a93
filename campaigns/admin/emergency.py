"""The emergency stop: everybody sees that it is pulled, and who may pull it is asked once."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from campaigns import services
from campaigns.admin.levers import WHERE_IT_WAITS, Lever, reason_form

PERMISSION = "campaigns.stop_everything"


def go_on_sentences(unused: None) -> list[str]:
    found = services.stopped()
    if found is None:
        return ["Nothing is stopped."]
    return [
        "Let all sending go on.",
        f"It was stopped by {found.stopped_by or 'somebody'}: {found.stopped_reason or 'nobody said why.'}",
    ]


ACTS = {
    "stop-everything": Lever(
        "Stop all sending",
        "Stop all sending",
        "emergency_home",
        lambda unused: [
            "Nothing leaves any more, of no campaign and no stream, until somebody lets it go on."
        ],
        "It takes effect with the next batch; calls that are open are finished. Everything that waits keeps its place, "
        "and receipts can still be handed in.",
        lambda unused, reason, by: services.stop_everything(reason=reason, by=by),
        "All sending is stopped.",
        reason_shown=WHERE_IT_WAITS,
        is_danger=True,
    ),
    "go-on": Lever(
        "Let sending go on",
        "Let it go on",
        "play_arrow",
        go_on_sentences,
        "Streams, campaigns and domains that are paused by themselves stay paused.",
        lambda unused, reason, by: services.go_on(by=by),
        "Sending goes on.",
    ),
}


def may_stop(request: HttpRequest) -> bool:
    """Say whether this person may stop all sending and let it go on."""
    return bool(request.user.has_perm(PERMISSION))


def banner(request: HttpRequest) -> dict[str, Any]:
    """Tell every page of the admin whether all sending is stopped; the database is asked only where a page shows it."""
    return {"sending_stopped": services.stopped, "may_stop_everything": lambda: may_stop(request)}


def view(model_admin: Any, request: HttpRequest, *, name: str) -> HttpResponse:
    """Ask, and on POST do."""
    if not may_stop(request):
        raise PermissionDenied
    act, home = ACTS[name], reverse("admin:index")
    if name == "go-on" and services.stopped() is None:
        messages.info(request, "Nothing is stopped.")
        return HttpResponseRedirect(home)
    form = reason_form(request, act)
    if request.method == "POST" and (form is None or form.is_valid()):
        reason = form.cleaned_data["reason"] if form else ""
        if act.pull(None, reason, request.user.get_username()):
            messages.success(request, act.done)
        else:
            messages.info(request, "Nothing was changed, it was like that already.")
        return HttpResponseRedirect(home)
    return TemplateResponse(
        request,
        "admin/campaigns/campaign/confirm.html",
        {
            **model_admin.admin_site.each_context(request),
            "opts": model_admin.opts,
            "title": act.title,
            "act": act,
            "question": {"sentences": act.sentences(None), "after": act.after, "form": form},
            "back": home,
        },
    )
