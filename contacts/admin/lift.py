"""Bringing one person back: a deliberate act of somebody who may, with the reason, and a trace in two places."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from contacts import services
from contacts.admin.acts import LiftForm, confirm_page
from contacts.models import Suppression

PERMISSION = "contacts.change_suppression"

RISKS = {
    Suppression.Reason.COMPLAINED: "They called our mail spam. Once more, and providers trust everything we send less.",
    Suppression.Reason.BOUNCED: "Their server said that the address does not exist. Mail to dead addresses is counted against us.",
    Suppression.Reason.UNSUBSCRIBED: "They asked to leave. Writing to them again needs their consent.",
    Suppression.Reason.MANUAL: "A member of staff has set it.",
}


@dataclass(frozen=True, slots=True)
class Button:
    """How the button looks that does it."""

    button: str = "Lift the suppression"
    icon: str = "lock_open"


def may_lift(request: HttpRequest) -> bool:
    """Say whether this member of staff may bring people back."""
    return bool(request.user.has_perm(PERMISSION))


def view(
    model_admin: Any, request: HttpRequest, row: Model, *, address: str, reason: str, back: str
) -> HttpResponse:
    """Ask for the reason, and on POST lift what stands against `address`."""
    if not may_lift(request):
        raise PermissionDenied
    form = LiftForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        why = form.cleaned_data["reason"]
        by = f"{request.user.get_username()}: {why}"
        if services.lift(address=address, by=by):
            model_admin.log_change(request, row, f"Lifted the suppression ({reason}). {why}")
            messages.success(request, f"{address} may be mailed again.")
        else:
            messages.info(request, f"Nothing stands against {address}: nothing was changed.")
        return HttpResponseRedirect(back)
    question = {
        "sentences": [f"Allow mail to {address} again?", RISKS[Suppression.Reason(reason)]],
        "after": "Your name and the reason are kept. It can be suppressed again any time.",
        "form": form,
    }
    return confirm_page(
        model_admin,
        request,
        title=f"Lift suppression: {address}",
        act=Button(),
        question=question,
        back=back,
        original=row,
    )
