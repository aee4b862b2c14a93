"""What is done to many messages at once: asked first, with a count and what they died of."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from campaigns import services
from campaigns.admin.levers import IN_THE_TRAIL, WITH_EACH_MAIL
from campaigns.forms import ReasonForm
from campaigns.models import Message
from contacts.admin.acts import confirm_page
from mailkoenig.lib.counting import many

MOST = 5_000
REASONS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that may be done to the selected messages that are in one state."""

    name: str
    title: str
    button: str
    icon: str
    status: str
    ask: str
    """The question, with {messages} in it."""
    after: str
    do: Callable[[list[int], str, str], int]
    """Takes the messages, the reason and who did it; returns how many changed."""
    done: str
    nothing: str
    reason_shown: str


CANCEL = Act(
    "cancel_selected",
    "Cancel messages",
    "Cancel them",
    "block",
    Message.Status.PENDING,
    "Take {messages} back before they are sent?",
    "This can't be taken back. Their keys stay used.",
    lambda ids, reason, by: services.cancel_messages(ids, by=by, reason=reason),
    "{messages} cancelled.",
    "None of these is ready any more: there is nothing to cancel.",
    WITH_EACH_MAIL,
)
REQUEUE = Act(
    "requeue_selected",
    "Requeue dead letters",
    "Try them again",
    "replay",
    Message.Status.FAILED,
    "Try {messages} again, with attempts anew?",
    "What the books show as sent after all is not sent twice.",
    lambda ids, reason, by: services.requeue_messages(ids=ids, by=by, reason=reason),
    "{messages} made ready again.",
    "None of these is a dead letter: there is nothing to requeue.",
    IN_THE_TRAIL,
)


def perform(
    model_admin: Any, request: HttpRequest, queryset: QuerySet[Message], *, act: Act
) -> HttpResponse | None:
    """Ask, and once the very count that was shown is confirmed, do."""
    rows = dict(queryset.filter(status=act.status).order_by("pk").values_list("pk", "reason")[: MOST + 1])
    if not rows:
        messages.info(request, act.nothing)
        return None
    if len(rows) > MOST:
        messages.error(
            request,
            f"These are more than {MOST:,} messages: narrow the list by a filter, or do it for all on the stream's page.",
        )
        return None
    form = ReasonForm(request.POST if "confirmed" in request.POST else None, shown=act.reason_shown)
    if request.POST.get("confirmed") != str(len(rows)) or not form.is_valid():
        return ask(model_admin, request, rows, act=act, form=form)
    changed = act.do(list(rows), form.cleaned_data["reason"], request.user.get_username())
    messages.success(request, act.done.format(messages=many(changed, "message")))
    return None


def ask(
    model_admin: Any, request: HttpRequest, rows: dict[int, str], *, act: Act, form: ReasonForm
) -> HttpResponse:
    """Return the page that asks; it repeats the selection as it was made."""
    hidden = [
        ("action", act.name),
        ("select_across", "1" if request.POST.get("select_across") == "1" else "0"),
        ("confirmed", str(len(rows))),
        *((ACTION_CHECKBOX_NAME, key) for key in request.POST.getlist(ACTION_CHECKBOX_NAME)),
    ]
    reasons = Counter(reason for reason in rows.values() if reason).most_common(REASONS_SHOWN)
    question = {
        "sentences": [
            act.ask.format(messages=many(len(rows), "message")),
            *(f"{count:,} because: {reason}" for reason, count in reasons),
        ],
        "after": act.after,
        "form": form,
    }
    return confirm_page(
        model_admin, request, title=act.title, act=act, question=question, hidden=hidden, back="?"
    )
