"""Sends without a clear answer: what was tried, when it settles by itself, and what a person may decide."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from campaigns import resolver
from campaigns.admin.levers import Lever, LeverAdmin
from campaigns.admin.preview import may_see_contacts
from campaigns.admin.words import STOPPED, WAITING, badge, link, shortened, when
from campaigns.models import Message, UnclearBatch
from campaigns.sql import jobs
from mailkoenig.lib.admin import CappedList, MachineAdmin
from mailkoenig.lib.command import UserError
from mailkoenig.lib.counting import many, people

SHOWN = 200
NO_KEY = "There is no account key (MAILGUN_API_KEY): Mailgun's log can't be asked, so only its webhooks can settle these."


def settle(batch: UnclearBatch, *, as_sent: bool, by: str) -> bool:
    """Do what a person decided; False when it was settled meanwhile."""
    try:
        resolver.settle_held(UUID(str(batch.pk)), as_sent=as_sent, by=by)
    except UserError:
        return False
    return True


def everybody(batch: UnclearBatch) -> str:
    """Return the people of a call in words."""
    return "the one person" if batch.size == 1 else f"all {people(batch.size)}"


class UnclearList(CappedList):
    """Finds the messages of all its rows at once."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        ids = {batch.message_id for batch in self.result_list} - {None}
        found = Message.objects.only("idempotency_key", "email").in_bulk(ids)
        for batch in self.result_list:
            batch.message = found.get(batch.message_id)


@admin.register(UnclearBatch)
class UnclearBatchAdmin(LeverAdmin, MachineAdmin):
    change_form_template = "admin/campaigns/lever_form.html"
    list_display = ["since", "mail", "stream", "to", "standing", "answer_in_short", "tried", "next"]
    list_display_links = ["since"]
    ordering = ["started_at"]
    empty_title = "Every outcome is known"
    empty_text = (
        "When a call to the provider gets no clear answer, its people show here until the provider's own record says "
        "whether it took them. Nobody is mailed twice meanwhile."
    )
    gone = "Its outcome is known by now: nothing was changed."
    levers = {
        "count-as-sent": Lever(
            "Count as sent",
            "Count as sent",
            "done_all",
            lambda batch: [
                f"Count the mail as sent to {everybody(batch)} of this call.",
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
                f"Send the mail again to {everybody(batch)} of this call.",
                "If the provider did take it, they get it twice.",
            ],
            "It can't be taken back. Your name is kept with the call, and they stay listed as perhaps mailed twice.",
            lambda batch, reason, by: settle(batch, as_sent=False, by=by),
            "ready to be sent again.",
            is_danger=True,
        ),
    }

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[UnclearBatch]:
        found: QuerySet[UnclearBatch] = super().get_queryset(request)
        return (
            found.filter(state=UnclearBatch.State.UNKNOWN)
            .select_related("campaign", "stream")
            .defer("campaign__body")
        )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[UnclearList]:
        return UnclearList

    def get_list_display(self, request: HttpRequest) -> list[str]:
        if may_see_contacts(request):
            return self.list_display
        return ["people" if name == "to" else name for name in self.list_display]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if not settings.MAILGUN_API_KEY:
            messages.warning(request, NO_KEY)
        response: HttpResponse = super().changelist_view(request, extra_context)
        return response

    # The page of one

    def get_fieldsets(
        self, request: HttpRequest, obj: UnclearBatch | None = None
    ) -> list[tuple[str | None, Any]]:
        groups = [
            (None, ["standing", "mail", "stream", "people", "since", "answer"]),
            ("What was asked", ["asks", "finding", "next"]),
            ("Who it is about", ["addresses"] if may_see_contacts(request) else []),
        ]
        return [(title, {"fields": names}) for title, names in groups if names]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        context = {**(extra_context or {})}
        batch = self.get_object(request, object_id)
        if batch is None:
            messages.info(request, "The outcome of that call is known by now.")
            return HttpResponseRedirect(self.address("changelist"))
        if batch.held_at and self.may_pull(request, batch):
            context["levers"] = list(self.levers.items())
        response: HttpResponse = super().change_view(request, object_id, form_url, context)
        return response

    # The levers

    def may_pull(self, request: HttpRequest, row: Model | None) -> bool:
        return bool(request.user.has_perm("campaigns.settle_unclearbatch"))

    def facts(self, request: HttpRequest, row: UnclearBatch) -> list[tuple[str, str]]:
        """Name the mail and for whom it is: the question can't be answered without looking them up."""
        who = self.to(row) if may_see_contacts(request) else self.people(row)
        return [("Mail", self.mail(row)), ("Stream", str(row.stream)), ("To", who)]

    def named(self, row: UnclearBatch) -> str:
        return link(str(row), url) if (url := home(row)) else str(row)

    def afterwards(self, row: UnclearBatch) -> str:
        """Go on with the next one: this one is not among the unknown any more."""
        return self.address("changelist")

    # What is shown

    @admin.display(description="State")
    def standing(self, batch: UnclearBatch) -> SafeString:
        if batch.held_at:
            return badge("Waits for a person", STOPPED)
        return badge("Being asked about", WAITING)

    @admin.display(description="Mail")
    def mail(self, batch: UnclearBatch) -> str:
        """Return the campaign or message with a link to it."""
        name = str(batch.campaign) if batch.campaign else str(batch)
        return link(name, url) if (url := home(batch)) else name

    @admin.display(description="People")
    def people(self, batch: UnclearBatch) -> str:
        return people(batch.size)

    @admin.display(description="To")
    def to(self, batch: UnclearBatch) -> str:
        return batch.message.email if batch.message else people(batch.size)

    @admin.display(description="Since")
    def since(self, batch: UnclearBatch) -> SafeString | None:
        return when(batch.started_at)

    @admin.display(description="What happened")
    def answer_in_short(self, batch: UnclearBatch) -> str:
        return shortened(batch.answer)

    @admin.display(description="Asked", empty_value="not yet")
    def tried(self, batch: UnclearBatch) -> str | None:
        return f"{many(batch.asks, 'time')}: {batch.finding}" if batch.asks else None

    @admin.display(description="Asked next")
    def next(self, batch: UnclearBatch) -> SafeString | str:
        return when(batch.next_ask_at) or "no more: a person decides"

    @admin.display(description="Addresses")
    def addresses(self, batch: UnclearBatch) -> SafeString:
        found = jobs.of(batch.campaign_id).sample(UUID(str(batch.pk)), limit=SHOWN)
        lines, rest = list(found), batch.size - len(found)
        if rest > 0:
            command = f": manage.py campaign unknowns {batch.campaign_id}" if batch.campaign_id else ""
            lines.append(f"and {rest:,} more{command}")
        return format_html_join("\n", "<div>{}</div>", ((line,) for line in lines))


def home(batch: UnclearBatch) -> str:
    """Return the address of the campaign or the message; empty where there is no such page."""
    if batch.campaign_id:
        return reverse("admin:campaigns_campaign_change", args=[batch.campaign_id])
    return reverse("admin:campaigns_message_change", args=[batch.message.pk]) if batch.message else ""
