"""What is done to many contacts at once: asked first, with a count, and never one form field for each of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from contacts import services
from contacts.models import Contact
from mailkoenig.lib.counting import many


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that may be done to the selected contacts."""

    name: str
    title: str
    button: str
    icon: str
    ask: str
    """The question, with {people} in it."""
    after: str
    do: Callable[[list[int], str], int]
    """Takes the contacts and who did it; returns how many changed."""
    done: str
    """What happened, with {people} in it."""
    most: int
    """More would outlast the patience of a browser or a proxy."""


DELETE = Act(
    "delete_selected",
    "Delete contacts",
    "Delete",
    "delete",
    "Delete {people}?",
    "This can't be taken back. Their names, attributes and lists go; whoever unsubscribed, bounced or complained stays "
    "suppressed, and past campaigns keep their figures.",
    lambda ids, by: services.delete_contacts(ids),
    "Deleted {people}.",
    50_000,
)
SUPPRESS = Act(
    "suppress",
    "Suppress contacts",
    "Suppress",
    "front_hand",
    "Send no more campaigns to {people}?",
    "Receipts still go out. Each can be lifted again, one by one, on the contact's page.",
    lambda ids, by: services.suppress_contacts(ids, by=by),
    "No campaigns go to {people} any more.",
    10_000,
)


def people(count: int) -> str:
    """Return a number of contacts in words."""
    return many(count, "contact")


def perform(
    model_admin: Any, request: HttpRequest, queryset: QuerySet[Contact], *, act: Act
) -> HttpResponse | None:
    """Ask, and once the very count that was shown is confirmed, do."""
    ids = list(queryset.order_by("pk").values_list("pk", flat=True)[: act.most + 1])
    if len(ids) > act.most:
        messages.error(
            request,
            f"These are more than {act.most:,} contacts, too many for one go: narrow the list by a search or filter first.",
        )
        return None
    if request.POST.get("confirmed") != str(len(ids)):
        return ask(model_admin, request, act=act, count=len(ids))
    changed = act.do(ids, request.user.get_username())
    happened = act.done.format(people=people(changed))
    LogEntry.objects.create(
        user_id=request.user.pk or 0,
        content_type=ContentType.objects.get_for_model(Contact),
        object_repr=people(changed),
        action_flag=CHANGE,
        change_message=happened,
    )
    messages.success(request, happened)
    return None


def ask(model_admin: Any, request: HttpRequest, *, act: Act, count: int) -> HttpResponse:
    """Return the page that asks; it repeats the selection as it was made: everything, or the rows that were ticked."""
    hidden = [
        ("action", act.name),
        ("select_across", "1" if request.POST.get("select_across") == "1" else "0"),
        ("confirmed", str(count)),
        *((ACTION_CHECKBOX_NAME, key) for key in request.POST.getlist(ACTION_CHECKBOX_NAME)),
    ]
    question = {"sentences": [act.ask.format(people=people(count))], "after": act.after, "form": None}
    return confirm_page(
        model_admin, request, title=act.title, act=act, question=question, hidden=hidden, back="?"
    )


def confirm_page(
    model_admin: Any,
    request: HttpRequest,
    *,
    title: str,
    act: Any,
    question: dict[str, Any],
    back: str,
    hidden: list[tuple[str, str]] | None = None,
    original: Any = None,
) -> HttpResponse:
    """Return a page that asks one question, with a button that does it and one that leads back."""
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": title,
        "act": act,
        "question": question,
        "hidden": hidden or [],
        "back": back,
        "original": original,
    }
    return TemplateResponse(request, "admin/contacts/confirm.html", context)


class LiftForm(forms.Form):
    """Why somebody may be mailed again."""

    reason = forms.CharField(
        max_length=300,
        widget=forms.TextInput(attrs={"class": "mk-input", "autofocus": True}),
        label="Why",
        help_text="Such as “asked for it by phone on 3 May”. It is kept with your name.",
    )
