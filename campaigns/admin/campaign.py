"""Campaigns: the list, the page of one, and the ways from there."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from campaigns import services
from campaigns.admin import acts, live, preview
from campaigns.admin.words import CAMPAIGN, badge, shortened, when
from campaigns.forms import REFUSALS, CampaignForm, frozen
from campaigns.models import Campaign

Status = Campaign.Status


class StatusFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(status.value, str(status.label)) for status in Status]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Campaign]) -> QuerySet[Campaign]:
        return queryset.filter(status=self.value()) if self.value() else queryset


class CampaignList(ChangeList):  # type: ignore[misc]  # unfold has no types
    """Leaves the bodies where they are: a page of them may be megabytes."""

    def get_queryset(self, request: HttpRequest, **kwargs: Any) -> QuerySet[Campaign]:
        found: QuerySet[Campaign] = super().get_queryset(request, **kwargs)
        return found.defer("body")


@admin.register(Campaign)
class CampaignAdmin(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    form = CampaignForm
    change_form_template = "admin/campaigns/campaign/change_form.html"
    list_display = ["name", "state", "subject_in_short", "domain", "starts", "began", "ended"]
    list_filter = [StatusFilter]
    list_select_related = ["domain"]
    ordering = ["-id"]
    search_fields = ["name", "subject"]
    search_help_text = "Part of a name or subject"
    autocomplete_fields = ["domain", "lists"]
    actions = None
    list_per_page = 50
    warn_unsaved_form = True
    empty_title = "No campaigns yet"
    empty_text = "A campaign is one mail to everybody on the lists you choose. Write one: nothing is sent before you say so."
    fieldsets = [
        ("Content", {"fields": ["name", "subject", "preheader", "body_format", "body"]}),
        ("Audience", {"fields": ["lists"]}),
        (
            "Sender",
            {"fields": ["domain", "from_name", "from_email", "reply_to", "track_opens", "track_clicks"]},
        ),
        ("Schedule", {"fields": ["schedule"]}),
    ]
    readonly_fields = ["schedule"]

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Campaign]:
        found: QuerySet[Campaign] = super().get_queryset(request)
        return found.select_related("domain")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[CampaignList]:
        return CampaignList

    @admin.display(description="State")
    def state(self, campaign: Campaign) -> SafeString:
        status = Status(campaign.status)
        return badge(str(status.label), CAMPAIGN[status])

    @admin.display(description="Subject")
    def subject_in_short(self, campaign: Campaign) -> str:
        return shortened(campaign.subject, length=60)

    @admin.display(description="Starts")
    def starts(self, campaign: Campaign) -> SafeString | None:
        return when(campaign.scheduled_at) if campaign.status == Status.SCHEDULED else None

    @admin.display(description="Began")
    def began(self, campaign: Campaign) -> SafeString | None:
        return when(campaign.started_at)

    @admin.display(description="Ended")
    def ended(self, campaign: Campaign) -> SafeString | None:
        return when(campaign.finished_at)

    @admin.display(description="When")
    def schedule(self, campaign: Campaign) -> SafeString | str:
        if campaign.status == Status.SCHEDULED:
            return when(campaign.scheduled_at) or ""
        if campaign.started_at:
            return when(campaign.started_at) or ""
        if campaign.status == Status.DRAFT:
            return "When you say so: save it, then choose “Send now” or “Schedule”."
        return "It has not begun."

    # Who may do what

    def has_change_permission(self, request: HttpRequest, obj: Campaign | None = None) -> bool:
        """Show what is being sent, or was, as a page to read; a POST gets a reason from the form instead."""
        allowed: bool = super().has_change_permission(request, obj)
        return allowed and (obj is None or obj.status not in REFUSALS or request.method == "POST")

    def has_delete_permission(self, request: HttpRequest, obj: Campaign | None = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and (obj is None or obj.status in (Status.DRAFT, Status.CANCELLED))

    def may_send(self, request: HttpRequest, campaign: Campaign) -> bool:
        """Say whether this person may start, stop and schedule it."""
        return bool(
            request.user.has_perm("campaigns.send_campaign") and self.has_view_permission(request, campaign)
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Campaign | None = None) -> list[str]:
        return [*self.readonly_fields, *(frozen(obj.status) if obj else ())]

    # The page of one

    def get_form(
        self, request: HttpRequest, obj: Campaign | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        kwargs["fields"] = [
            name
            for _, options in self.get_fieldsets(request, obj)
            for name in options["fields"]
            if name not in self.get_readonly_fields(request, obj)
        ]
        return super().get_form(request, obj, change=change, **kwargs)

    def save_model(self, request: HttpRequest, obj: Campaign, form: CampaignForm, change: bool) -> None:
        """Save only what was typed: a worker may be writing the rest of the row."""
        if not change:
            obj.created_by_id = request.user.pk
            obj.save()
            return
        own = {field.name for field in Campaign._meta.concrete_fields}
        obj.save(update_fields=[*(own & set(form.changed_data)), "updated_at"])
        if obj.status == Status.PAUSED and {"subject", "preheader", "body", "body_format"} & set(
            form.changed_data
        ):
            messages.warning(request, "Who already got it has the old text; who is left gets the new one.")

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        campaign: Campaign | None = kwargs.get("obj")
        if campaign is not None:
            may_send = self.may_send(request, campaign)
            context |= {
                "look": CAMPAIGN[Status(campaign.status)],
                "acts": acts.possible(campaign) if may_send else [],
                "refresh": campaign.status in live.MOVING,
            }
            if campaign.status != Status.DRAFT:
                context |= live.panel(campaign)
        return super().render_change_form(request, context, *args, **kwargs)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Refuse with a reason what is on record."""
        campaign = self.get_object(request, object_id)
        if (
            campaign is not None
            and super().has_delete_permission(request, campaign)
            and is_on_record(campaign)
        ):
            messages.error(
                request,
                f"“{campaign}” can't be deleted: what was sent stays on record. If it still goes out, cancel it instead.",
            )
            return HttpResponseRedirect(reverse("admin:campaigns_campaign_change", args=[campaign.pk]))
        try:
            response: HttpResponse = super().delete_view(request, object_id, extra_context)
        except services.NotSendable as refused:
            messages.error(request, str(refused))
            return HttpResponseRedirect(reverse("admin:campaigns_campaign_change", args=[object_id]))
        return response

    def delete_model(self, request: HttpRequest, obj: Campaign) -> None:
        services.delete(obj)

    def missing(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Say that there is no such campaign."""
        messages.warning(request, f"There is no campaign {object_id}: it may have been deleted.")
        return HttpResponseRedirect(reverse("admin:campaigns_campaign_changelist"))

    # The ways from there

    def get_urls(self) -> list[Any]:
        def bound(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
            def run(request: HttpRequest, object_id: str) -> HttpResponse:
                return view(self, request, object_id)

            return run

        own = [
            ("<path:object_id>/preview/html/", "campaigns_campaign_preview_html", bound(preview.html)),
            ("<path:object_id>/preview/", "campaigns_campaign_preview", bound(preview.page)),
            ("<path:object_id>/progress/", "campaigns_campaign_progress", bound(live.answer)),
            *acts.urls(self),
        ]
        return [
            *(path(route, self.admin_site.admin_view(view), name=name) for route, name, view in own),
            *super().get_urls(),
        ]


def is_on_record(campaign: Campaign) -> bool:
    """Say whether people were selected for it, or will be."""
    return campaign.status not in (Status.DRAFT, Status.CANCELLED) or campaign.recipients.exists()
