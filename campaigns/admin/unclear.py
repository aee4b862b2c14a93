"""Sends without a clear answer: what was tried, when it settles by itself, and what a person may decide."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from campaigns import reports, resolver
from campaigns.admin.levers import Lever, LeverAdmin
from campaigns.admin.words import STOPPED, WAITING, badge, link, shortened, when
from campaigns.models import SendBatch, UnclearBatch
from mailkoenig.lib.admin import MachineAdmin
from mailkoenig.lib.command import UserError

SHOWN = 200
NO_KEY = "There is no account key (MAILGUN_API_KEY): Mailgun's log can't be asked, so only its webhooks can settle these."


def settle(batch: SendBatch, *, as_sent: bool, by: str) -> bool:
    """Do what a person decided; False when it was settled meanwhile."""
    try:
        resolver.settle_held(UUID(str(batch.pk)), as_sent=as_sent, by=by)
    except UserError:
        return False
    return True


@admin.register(UnclearBatch)
class UnclearBatchAdmin(LeverAdmin, MachineAdmin):
    change_form_template = "admin/campaigns/lever_form.html"
    list_display = ["since", "people", "campaign", "standing", "answer_in_short", "tried", "next"]
    list_display_links = ["since"]
    ordering = ["started_at"]
    empty_title = "Every outcome is known"
    empty_text = (
        "When a call to the provider gets no clear answer, its people show here until the provider's own record says "
        "whether it took them. Nobody is mailed twice meanwhile."
    )
    fieldsets = [
        (None, {"fields": ["standing", "campaign_link", "people", "since", "answer"]}),
        ("What was asked", {"fields": ["asks", "finding", "next"]}),
        ("Who it is about", {"fields": ["addresses"]}),
    ]
    levers = {
        "count-as-sent": Lever(
            "Count as sent",
            "Count as sent",
            "done_all",
            lambda batch: [
                f"Count the mail as sent to all {batch.size:,} people of this call.",
                "If the provider did not take it, they never get it.",
            ],
            "It can't be taken back. Your name is kept with the call.",
            lambda batch, reason, by: settle(batch, as_sent=True, by=by),
            "counted as sent.",
            is_danger=True,
        ),
        "send-again": Lever(
            "Send again",
            "Send again",
            "replay",
            lambda batch: [
                f"Send the mail again to the {batch.size:,} people of this call.",
                "If the provider did take it, they get it twice.",
            ],
            "It can't be taken back. Your name is kept with the call, and they stay listed as perhaps mailed twice.",
            lambda batch, reason, by: settle(batch, as_sent=False, by=by),
            "is sent again.",
            is_danger=True,
        ),
    }

    def get_queryset(self, request: HttpRequest) -> QuerySet[SendBatch]:
        found: QuerySet[SendBatch] = super().get_queryset(request)
        return found.filter(state=SendBatch.State.UNKNOWN).select_related("campaign").defer("campaign__body")

    def may_pull(self, request: HttpRequest, row: Any) -> bool:
        return bool(request.user.has_perm("campaigns.settle_unclearbatch"))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if not settings.MAILGUN_API_KEY:
            messages.warning(request, NO_KEY)
        response: HttpResponse = super().changelist_view(request, extra_context)
        return response

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        context = {**(extra_context or {})}
        batch = self.get_object(request, object_id)
        if batch is not None and batch.held_at and self.may_pull(request, batch):
            context["levers"] = list(self.levers.items())
        response: HttpResponse = super().change_view(request, object_id, form_url, context)
        return response

    @admin.display(description="State")
    def standing(self, batch: SendBatch) -> SafeString:
        if batch.held_at:
            return badge("Waits for a person", STOPPED)
        return badge("Being asked about", WAITING)

    @admin.display(description="People")
    def people(self, batch: SendBatch) -> str:
        return f"{batch.size:,}"

    @admin.display(description="Since")
    def since(self, batch: SendBatch) -> SafeString | None:
        return when(batch.started_at)

    @admin.display(description="What happened")
    def answer_in_short(self, batch: SendBatch) -> str:
        return shortened(batch.answer)

    @admin.display(description="Asked", empty_value="not yet")
    def tried(self, batch: SendBatch) -> str | None:
        return f"{batch.asks} times: {batch.finding}" if batch.asks else None

    @admin.display(description="Asked next", empty_value="no more: a person decides")
    def next(self, batch: SendBatch) -> SafeString | None:
        return when(batch.next_ask_at)

    @admin.display(description="Campaign")
    def campaign_link(self, batch: SendBatch) -> SafeString | None:
        if batch.campaign_id is None:
            return None
        return link(str(batch.campaign), reverse("admin:campaigns_campaign_change", args=[batch.campaign_id]))

    @admin.display(description="Addresses")
    def addresses(self, batch: SendBatch) -> SafeString | str:
        people = reports.people_of(batch.campaign_id, batch=batch.pk, limit=SHOWN)
        shown = format_html_join("\n", "<div>{}</div>", ((person.email,) for person in people))
        if batch.size <= len(people):
            return shown
        rest = f"and {batch.size - len(people):,} more: manage.py campaign unknowns {batch.campaign_id}"
        return shown + format_html_join("", "<div>{}</div>", ((rest,),))
