"""The domains that mail is sent from."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin

from campaigns import services
from campaigns.admin.levers import WHERE_IT_WAITS, Lever, LeverAdmin
from campaigns.admin.words import RUNNING, STOPPED, WAITING, badge, when
from campaigns.forms import SenderDomainForm
from campaigns.models import SenderDomain
from mailkoenig.lib.database_clock import clock


def pause_sentences(domain: SenderDomain) -> list[str]:
    return [f"Stop everything that is sent from {domain}."]


def resume_sentences(domain: SenderDomain) -> list[str]:
    sentences = [f"Let mail leave from {domain} again, at once."]
    if domain.status == SenderDomain.Status.PAUSED:
        sentences.append(f"It was paused because: {domain.paused_reason or 'nobody said why.'}")
    if domain.held_until and domain.held_until > clock.now():
        sentences.append(f"The provider asked us to wait; its words: {domain.held_reason or 'none'}")
    return sentences


@admin.register(SenderDomain)
class SenderDomainAdmin(LeverAdmin, ModelAdmin):  # type: ignore[misc]  # unfold has no types
    form = SenderDomainForm
    change_form_template = "admin/campaigns/lever_form.html"
    list_display = ["name", "state", "why", "is_shared", "batch_limit"]
    search_fields = ["name"]
    actions = None
    empty_title = "No sender domain yet"
    empty_text = "Add the domain that is registered at your provider; campaigns are sent from it."
    fieldsets = [
        (None, {"fields": ["name", "is_shared", "batch_limit"]}),
        ("State", {"fields": ["state", "why", "limit_ends"]}),
    ]
    readonly_fields = ["state", "why", "limit_ends"]
    levers = {
        "pause": Lever(
            "Pause",
            "Pause",
            "pause",
            pause_sentences,
            "Calls that are open are finished first. Everybody who is left keeps their place; nobody is lost.",
            lambda domain, reason, by: services.pause_domain(domain, reason=reason, by=by),
            "paused.",
            reason_shown=WHERE_IT_WAITS,
            is_danger=True,
        ),
        "resume": Lever(
            "Resume",
            "Resume",
            "play_arrow",
            resume_sentences,
            "If the provider still refuses it, it is paused again with the next call; nobody gets a mail twice.",
            lambda domain, reason, by: services.resume_domain(domain, by=by),
            "goes on.",
        ),
    }

    @admin.display(description="State")
    def state(self, domain: SenderDomain) -> SafeString:
        if domain.status == SenderDomain.Status.PAUSED:
            return badge("Paused", STOPPED)
        if domain.held_until and domain.held_until > clock.now():
            return badge("Waits", WAITING)
        return badge("Active", RUNNING)

    @admin.display(description="Why")
    def why(self, domain: SenderDomain) -> str:
        if domain.status == SenderDomain.Status.PAUSED:
            return domain.paused_reason
        if domain.held_until and domain.held_until > clock.now():
            local = timezone.localtime(domain.held_until)
            return f"until {local:%Y-%m-%d %H:%M %Z}: {domain.held_reason}"
        return "nothing holds it"

    @admin.display(description="The limit ends")
    def limit_ends(self, domain: SenderDomain) -> SafeString | str:
        return when(domain.batch_limit_until) or "it stays until you change it"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        domain: SenderDomain | None = kwargs.get("obj")
        if domain is not None and self.has_change_permission(request, domain):
            held = domain.status == SenderDomain.Status.PAUSED or domain.held_until
            shown = ["resume"] if held else ["pause"]
            context["levers"] = [(name, self.levers[name]) for name in shown]
        return super().render_change_form(request, context, *args, **kwargs)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Refuse with a reason what campaigns or calls hang on."""
        domain = self.get_object(request, object_id)
        if (
            domain is not None
            and self.has_delete_permission(request, domain)
            and (domain.campaigns.exists() or domain.batches.exists())
        ):
            messages.error(
                request,
                f"{domain} can't be deleted: campaigns are sent from it, or were. Pause it if nothing may leave from it.",
            )
            return HttpResponseRedirect(reverse("admin:campaigns_senderdomain_change", args=[domain.pk]))
        response: HttpResponse = super().delete_view(request, object_id, extra_context)
        return response
