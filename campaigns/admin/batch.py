"""The calls to the provider, one row each."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from campaigns.admin.words import BATCH, badge, link, shortened, when
from campaigns.models import Message, SendBatch
from mailkoenig.lib.admin import MachineAdmin


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state.value, str(state.label)) for state in SendBatch.State]

    def queryset(self, request: HttpRequest, queryset: QuerySet[SendBatch]) -> QuerySet[SendBatch]:
        return queryset.filter(state=self.value()) if self.value() else queryset


@admin.register(SendBatch)
class SendBatchAdmin(MachineAdmin):
    list_display = [
        "claimed",
        "outcome",
        "about",
        "domain",
        "size",
        "accepted",
        "answer_in_short",
        "worker",
        "took",
    ]
    list_display_links = ["claimed"]
    list_filter = [StateFilter]
    ordering = ["-claimed_at"]
    empty_title = "No calls yet"
    empty_text = "Each call to the provider shows here with its people, its answer and how long it took."
    fieldsets = [
        (None, {"fields": ["id", "outcome", "answer", "size", "accepted"]}),
        ("About", {"fields": ["about_link", "stream", "domain", "worker", "provider_id"]}),
        ("When", {"fields": ["claimed", "started", "settled", "took", "lease_expires_at", "evidence_at"]}),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[SendBatch]:
        found: QuerySet[SendBatch] = super().get_queryset(request)
        return found.select_related("campaign", "domain", "stream").defer("campaign__body")

    @admin.display(description="State")
    def outcome(self, batch: SendBatch) -> SafeString:
        state = SendBatch.State(batch.state)
        return badge(str(state.label).lower(), BATCH[state])

    @admin.display(description="Answer")
    def answer_in_short(self, batch: SendBatch) -> str:
        return shortened(batch.answer)

    @admin.display(description="Claimed")
    def claimed(self, batch: SendBatch) -> SafeString | None:
        return when(batch.claimed_at)

    @admin.display(description="Call began")
    def started(self, batch: SendBatch) -> SafeString | None:
        return when(batch.started_at)

    @admin.display(description="Settled")
    def settled(self, batch: SendBatch) -> SafeString | None:
        return when(batch.settled_at)

    @admin.display(description="Took")
    def took(self, batch: SendBatch) -> str | None:
        if not batch.started_at or not batch.settled_at:
            return None
        return f"{(batch.settled_at - batch.started_at) / timedelta(seconds=1):,.1f} s"

    @admin.display(description="Mail")
    def about(self, batch: SendBatch) -> str:
        return str(batch.campaign) if batch.campaign_id else f"stream {batch.stream}"

    @admin.display(description="Mail")
    def about_link(self, batch: SendBatch) -> SafeString | str:
        if batch.campaign_id:
            url = reverse("admin:campaigns_campaign_change", args=[batch.campaign_id])
            return link(str(batch.campaign), url)
        if batch.message_id is None:
            return "several messages"
        message = Message.objects.filter(pk=batch.message_id).only("idempotency_key").first()
        if message is None:
            return "a message that is no longer kept"
        return link(str(message), reverse("admin:campaigns_message_change", args=[message.pk]))
