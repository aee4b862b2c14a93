"""The people of one campaign, or every mail to one address."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from campaigns.admin.words import RECIPIENT, badge, link, shortened, when
from campaigns.models import Campaign, Recipient
from contacts.models import Contact
from mailkoenig.lib.addresses import InvalidAddress, normalise
from mailkoenig.lib.admin import CappedList, MachineAdmin

CAMPAIGN = "campaign__id__exact"


class StatusFilter(admin.SimpleListFilter):
    """By state, without asking a table of millions which states it holds."""

    title = "state"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(status.value, str(status.label)) for status in Recipient.Status]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Recipient]) -> QuerySet[Recipient]:
        return queryset.filter(status=self.value()) if self.value() else queryset


class RecipientList(CappedList):
    """Shows nobody until a campaign or an address is named: everybody of every campaign is no list to read."""

    def get_queryset(self, request: HttpRequest, **kwargs: Any) -> QuerySet[Recipient]:
        found: QuerySet[Recipient] = super().get_queryset(request, **kwargs).defer("campaign__body")
        return found if self.query or request.GET.get(CAMPAIGN) else found.none()


@admin.register(Recipient)
class RecipientAdmin(MachineAdmin):
    list_display = ["email", "name", "state", "why", "campaign", "accepted_at", "delivered"]
    list_before_template = "admin/campaigns/recipient/back.html"
    list_filter = [StatusFilter]
    list_select_related = ["campaign"]
    # The order of the index that starts with the campaign.
    ordering = ["campaign_id", "contact_id"]
    search_fields = ["email"]
    search_help_text = "A whole address"
    empty_title = "Nobody to show"
    empty_text = (
        "Open a campaign and follow a number to see its people, or search for a whole address to see every "
        "campaign that went to it."
    )
    fieldsets = [
        (None, {"fields": ["email", "name", "state", "reason", "campaign_link"]}),
        (
            "What happened",
            {
                "fields": [
                    "attempts",
                    "next_attempt_at",
                    "accepted_at",
                    "delivered",
                    "opened_at",
                    "clicked_at",
                    "machine_opened_at",
                    "machine_clicked_at",
                ]
            },
        ),
        ("For the operator", {"fields": ["batch_link", "locked_by", "locked_at"]}),
    ]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[RecipientList]:
        return RecipientList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Recipient], search_term: str
    ) -> tuple[QuerySet[Recipient], bool]:
        """Find one address by the contacts' index; of those whose contact is gone, within the campaign only."""
        if not search_term.strip():
            return queryset, False
        try:
            address = normalise(search_term)
        except InvalidAddress:
            return queryset.none(), False
        contact = Contact.objects.filter(email=address).values_list("pk", flat=True).first()
        if contact is not None:
            return queryset.filter(contact=contact), False
        if request.GET.get(CAMPAIGN):
            return queryset.filter(Q(contact=None, email=address)), False
        return queryset.none(), False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        wanted = request.GET.get(CAMPAIGN, "")
        campaign = Campaign.objects.defer("body").filter(pk=wanted).first() if wanted.isdigit() else None
        title = f"People of {campaign}" if campaign else "People of campaigns"
        return super().changelist_view(
            request, {"title": title, "campaign": campaign, **(extra_context or {})}
        )

    def get_list_display(self, request: HttpRequest) -> list[str]:
        """Leave the campaign out where all have the same."""
        return [name for name in self.list_display if name != "campaign" or CAMPAIGN not in request.GET]

    @admin.display(description="State")
    def state(self, recipient: Recipient) -> SafeString:
        status = Recipient.Status(recipient.status)
        return badge(str(status.label), RECIPIENT[status])

    @admin.display(description="Why")
    def why(self, recipient: Recipient) -> str:
        return shortened(recipient.reason)

    @admin.display(description="Accepted")
    def accepted_at(self, recipient: Recipient) -> SafeString | None:
        return when(recipient.sent_at)

    @admin.display(description="Delivered")
    def delivered(self, recipient: Recipient) -> SafeString | None:
        return when(recipient.delivered_at)

    @admin.display(description="Campaign")
    def campaign_link(self, recipient: Recipient) -> SafeString:
        return link(
            str(recipient.campaign), reverse("admin:campaigns_campaign_change", args=[recipient.campaign_id])
        )

    @admin.display(description="Batch")
    def batch_link(self, recipient: Recipient) -> SafeString | None:
        if recipient.batch_id is None:
            return None
        return link(
            str(recipient.batch_id), reverse("admin:campaigns_sendbatch_change", args=[recipient.batch_id])
        )
