"""Suppressions: whom we write to no more, and the trace of each that was lifted. Nothing is edited or deleted here."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.safestring import SafeString

from contacts import services
from contacts.admin import lift
from contacts.admin.looks import REASON, SCOPE
from contacts.forms import SuppressionForm
from contacts.models import Suppression
from mailkoenig.lib.admin import MachineAdmin
from mailkoenig.lib.marks import badge, shortened, when


class ReasonFilter(admin.SimpleListFilter):
    title = "reason"
    parameter_name = "reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(reason.value, str(reason.label)) for reason in Suppression.Reason]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Suppression]) -> QuerySet[Suppression]:
        return queryset.filter(reason=self.value()) if self.value() else queryset


class StandingFilter(admin.SimpleListFilter):
    title = "whether it stands"
    parameter_name = "stands"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Stands"), ("no", "Lifted")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Suppression]) -> QuerySet[Suppression]:
        return queryset.filter(lifted_at__isnull=self.value() == "yes") if self.value() else queryset


@admin.register(Suppression)
class SuppressionAdmin(MachineAdmin):
    form = SuppressionForm
    change_form_template = "admin/contacts/bar_form.html"
    list_display = ["address", "why", "scope", "asked_by", "since", "lifted"]
    list_filter = [ReasonFilter, StandingFilter]
    ordering = ["-id"]
    search_fields = ["address__startswith"]
    search_help_text = "The beginning of an address"
    empty_title = "Nobody is suppressed"
    empty_text = "Whoever unsubscribes, bounces or complains shows here and gets no campaigns any more. You can add an address by hand."
    fieldsets = [
        (None, {"fields": ["address", "why", "stops", "source", "event", "since"]}),
        ("Lifted", {"fields": ["lifted", "lifted_by"]}),
    ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("contacts.add_suppression"))

    def get_fieldsets(self, request: HttpRequest, obj: Suppression | None = None) -> Any:
        return self.fieldsets if obj else [(None, {"fields": ["address", "scope", "source"]})]

    def save_model(self, request: HttpRequest, obj: Suppression, form: SuppressionForm, change: bool) -> None:
        """Suppress by hand; `obj` becomes the suppression that stands then."""
        services.suppress(
            address=obj.address,
            reason=Suppression.Reason.MANUAL,
            scope=Suppression.Scope(obj.scope),
            source=f"{request.user.get_username()}: {obj.source}".rstrip(": "),
        )
        obj.pk = Suppression.objects.values_list("pk", flat=True).get(address=obj.address, lifted_at=None)
        obj.refresh_from_db()

    @admin.display(description="Reason")
    def why(self, suppression: Suppression) -> SafeString:
        reason = Suppression.Reason(suppression.reason)
        return badge(str(reason.label), REASON[reason])

    @admin.display(description="Stops")
    def stops(self, suppression: Suppression) -> str:
        return SCOPE[Suppression.Scope(suppression.scope)]

    @admin.display(description="Asked by")
    def asked_by(self, suppression: Suppression) -> str:
        return shortened(suppression.source, length=60)

    @admin.display(description="Since")
    def since(self, suppression: Suppression) -> SafeString | None:
        return when(suppression.created_at)

    @admin.display(description="Lifted", empty_value="no, it stands")
    def lifted(self, suppression: Suppression) -> SafeString | None:
        return when(suppression.lifted_at)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        suppression: Suppression | None = kwargs.get("obj")
        if suppression is not None and suppression.lifted_at is None and lift.may_lift(request):
            context["bar_acts"] = [("lift", "Lift suppression", "lock_open")]
        return super().render_change_form(request, context, *args, **kwargs)

    def get_urls(self) -> list[Any]:
        lifting = path(
            "<path:object_id>/lift/", self.admin_site.admin_view(self.lift), name="contacts_suppression_lift"
        )
        return [lifting, *super().get_urls()]

    def lift(self, request: HttpRequest, object_id: str) -> HttpResponse:
        if not lift.may_lift(request) or not self.has_view_permission(request):
            raise PermissionDenied
        suppression = self.get_object(request, object_id)
        if suppression is None or suppression.lifted_at is not None:
            return HttpResponseRedirect(reverse("admin:contacts_suppression_changelist"))
        back = reverse("admin:contacts_suppression_change", args=[suppression.pk])
        return lift.view(
            self, request, suppression, address=suppression.address, reason=suppression.reason, back=back
        )
