"""Pausing and resuming what mail goes through: with a reason, by a person who is named, and never by a GET."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html

from campaigns.forms import ReasonForm

WHERE_IT_WAITS = "shown wherever mail waits because of it"
WITH_EACH_MAIL = "shown with each mail and kept in the audit trail"
IN_THE_TRAIL = "kept in the audit trail"


@dataclass(frozen=True, slots=True)
class Lever:
    """One way to stop something or to let it go on."""

    title: str
    button: str
    icon: str
    sentences: Callable[[Any], list[str]]
    after: str
    pull: Callable[[Any, str, str], bool]
    """Takes the row, the reason and who did it, and leaves a trace; False when there was nothing to do."""
    done: str
    reason_shown: str = ""
    """Where others read the reason, which is asked for then: WHERE_IT_WAITS and so on."""
    is_danger: bool = False


def reason_form(request: HttpRequest, lever: Lever) -> ReasonForm | None:
    """Return what asks for the reason, if the lever wants one."""
    return ReasonForm(request.POST or None, shown=lever.reason_shown) if lever.reason_shown else None


class LeverAdmin:
    """Adds a page for each of `levers` to a model's admin; asking for it takes the right to change the row, or what `may_pull` says."""

    levers: dict[str, Lever] = {}
    gone = "There is no such thing any more: nothing was changed."

    def pull(self, request: HttpRequest, object_id: str, *, name: str) -> HttpResponse:
        """Ask, and on POST do."""
        admin: Any = self
        lever = self.levers[name]
        row: Model | None = admin.get_object(request, object_id)
        if not self.may_pull(request, row):
            raise PermissionDenied
        if row is None:
            messages.info(request, self.gone)
            return HttpResponseRedirect(self.address("changelist"))
        form = reason_form(request, lever)
        back = self.address("change", row.pk)
        if request.method == "POST" and (form is None or form.is_valid()):
            reason = form.cleaned_data["reason"] if form else ""
            if lever.pull(row, reason, request.user.get_username()):
                happened = f"{lever.done}{f' {reason}' if reason else ''}"
                messages.success(request, format_html("{}: {}", self.named(row), happened))
            else:
                messages.info(request, f"{row}: nothing was changed, it was like that already.")
            return HttpResponseRedirect(self.afterwards(row))
        context = {
            **admin.admin_site.each_context(request),
            "opts": admin.opts,
            "original": row,
            "title": f"{lever.title}: {row}",
            "act": lever,
            "question": {
                "sentences": lever.sentences(row),
                "facts": self.facts(request, row),
                "after": lever.after,
                "form": form,
            },
            "back": back,
        }
        return TemplateResponse(request, "admin/campaigns/campaign/confirm.html", context)

    def may_pull(self, request: HttpRequest, row: Model | None) -> bool:
        """Say whether this person may pull the levers of a row."""
        return bool(self.has_change_permission(request, row))  # type: ignore[attr-defined]  # of the ModelAdmin beside it

    def facts(self, request: HttpRequest, row: Any) -> list[tuple[str, str]]:
        """Return what else a person should know of a row before an act, each with its name."""
        return []

    def named(self, row: Any) -> str:
        """Return a row's name, with a link where it is to be found elsewhere."""
        return str(row)

    def afterwards(self, row: Any) -> str:
        """Return the address of where a person goes on after an act."""
        return self.address("change", row.pk)

    def address(self, page: str, *arguments: object) -> str:
        """Return the address of one of the model's own pages."""
        opts = self.opts  # type: ignore[attr-defined]  # of the ModelAdmin beside it
        return reverse(f"admin:{opts.app_label}_{opts.model_name}_{page}", args=arguments)

    def get_urls(self) -> list[Any]:
        admin: Any = self

        def view(name: str) -> Callable[..., HttpResponse]:
            def run(request: HttpRequest, object_id: str) -> HttpResponse:
                return self.pull(request, object_id, name=name)

            return run

        stem = f"{admin.opts.app_label}_{admin.opts.model_name}"
        return [
            *(
                path(
                    f"<path:object_id>/{name}/",
                    admin.admin_site.admin_view(view(name)),
                    name=f"{stem}_{name}",
                )
                for name in self.levers
            ),
            *super().get_urls(),  # type: ignore[misc]  # of the ModelAdmin beside it
        ]
