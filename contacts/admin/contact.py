"""Contacts: the list of a million, the page of one, and the way in from a file."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.safestring import SafeString
from unfold.admin import TabularInline
from unfold.decorators import action

from contacts import services
from contacts.admin import acts, contact_import, lift
from contacts.admin.looks import SCOPE, STATUS
from contacts.forms import ContactForm
from contacts.models import Contact, ContactList, Membership, Suppression
from mailkoenig.lib.admin import BigTableAdmin
from mailkoenig.lib.marks import badge, when

Status = Contact.Status
LISTS_SHOWN = 200


class StatusFilter(admin.SimpleListFilter):
    """By state, without asking a million rows which states they hold."""

    title = "state"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(status.value, str(status.label)) for status in Status]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Contact]) -> QuerySet[Contact]:
        return queryset.filter(status=self.value()) if self.value() else queryset


class ListFilter(admin.SimpleListFilter):
    """By list; the page of each list leads here too."""

    title = "list"
    parameter_name = "list"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = ContactList.objects.order_by("name").values_list("pk", "name")[:LISTS_SHOWN]
        return [(str(pk), name) for pk, name in names]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Contact]) -> QuerySet[Contact]:
        wanted = self.value()
        if not wanted:
            return queryset
        return queryset.filter(memberships__list=int(wanted)) if is_key(wanted) else queryset.none()


def is_key(text: str) -> bool:
    """Say whether a text can be the primary key of a row."""
    return text.isascii() and text.isdigit() and len(text) < 19


class MembershipInline(TabularInline):  # type: ignore[misc]  # unfold has no types
    model = Membership
    autocomplete_fields = ["list"]
    extra = 0
    verbose_name = "list"
    verbose_name_plural = "On these lists"


@admin.register(Contact)
class ContactAdmin(BigTableAdmin):
    form = ContactForm
    change_form_template = "admin/contacts/bar_form.html"
    list_display = ["email", "name", "state", "created"]
    list_filter = [StatusFilter, ListFilter]
    list_per_page = 100
    ordering = ["-id"]
    search_fields = ["email", "name"]
    search_help_text = "The beginning of an address, or part of a name"
    actions = ["suppress", "delete_selected"]
    actions_list = ["import_file"]
    warn_unsaved_form = True
    inlines = [MembershipInline]
    empty_title = "No contacts yet"
    empty_text = (
        "People you write to. Bring them in from a file with “Import contacts” above, or add one by hand."
    )
    fieldsets = [
        (None, {"fields": ["email", "name", "attributes"]}),
        ("May we write to them?", {"fields": ["state", "why"]}),
        ("History", {"fields": ["created", "updated"]}),
    ]

    # The list

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Contact], search_term: str
    ) -> tuple[QuerySet[Contact], bool]:
        """Find by the beginning of an address, which has an index, or by part of a name."""
        term = search_term.strip().replace("\0", "")
        if not term:
            return queryset, False
        by_address = Q(email__startswith=term.lower())
        if "@" in term:
            return queryset.filter(by_address), False
        return queryset.filter(by_address | Q(name__icontains=term)), False

    @admin.display(description="State")
    def state(self, contact: Contact) -> SafeString:
        status = Status(contact.status)
        return badge(str(status.label), STATUS[status])

    @admin.display(description="Added")
    def created(self, contact: Contact) -> SafeString | None:
        return when(contact.created_at)

    @admin.display(description="Last changed")
    def updated(self, contact: Contact) -> SafeString | None:
        return when(contact.updated_at)

    @admin.display(description="Why", empty_value="Nothing stands against it.")
    def why(self, contact: Contact) -> str | None:
        standing = standing_suppression(contact)
        if standing is None:
            return None if contact.status == Status.ACTIVE else "Set without a suppression."
        said = f" ({standing.source})" if standing.source else ""
        scope = SCOPE[Suppression.Scope(standing.scope)]
        return f"{standing.get_reason_display()} on {standing.created_at:%Y-%m-%d}{said}. It stops {scope}."

    # Many at once

    @admin.action(description="Suppress: send no more campaigns", permissions=["suppress"])
    def suppress(self, request: HttpRequest, queryset: QuerySet[Contact]) -> HttpResponse | None:
        return acts.perform(self, request, queryset, act=acts.SUPPRESS)

    @admin.action(description="Delete", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Contact]) -> HttpResponse | None:
        return acts.perform(self, request, queryset, act=acts.DELETE)

    def has_suppress_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("contacts.add_suppression"))

    # The page of one

    def get_readonly_fields(self, request: HttpRequest, obj: Contact | None = None) -> list[str]:
        """Keep the address of whoever is suppressed: with another one they would be mailed again."""
        fixed = ["email"] if obj is not None and obj.status != Status.ACTIVE else []
        return [*fixed, "state", "why", "created", "updated"]

    def get_fieldsets(self, request: HttpRequest, obj: Contact | None = None) -> Any:
        return self.fieldsets if obj else self.fieldsets[:1]

    def save_model(self, request: HttpRequest, obj: Contact, form: ContactForm, change: bool) -> None:
        services.save(obj, fields=form.changed_data if change else None)
        if not change and obj.status != Status.ACTIVE:
            messages.warning(
                request,
                f"{obj} stays suppressed ({obj.status}): this address was suppressed before. Lift it here if that is right.",
            )

    def delete_model(self, request: HttpRequest, obj: Contact) -> None:
        services.delete_contacts([obj.pk])

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, ...]:
        """Name the contact alone: what hangs on it may be thousands of rows."""
        lacking = set() if self.has_delete_permission(request) else {self.opts.verbose_name}
        return [str(contact) for contact in objs], {self.opts.verbose_name_plural: len(objs)}, lacking, []

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        contact: Contact | None = kwargs.get("obj")
        if contact is not None and contact.status != Status.ACTIVE and lift.may_lift(request):
            context["bar_acts"] = [("lift", "Lift suppression", "lock_open")]
        return super().render_change_form(request, context, *args, **kwargs)

    # Pages of our own

    def get_urls(self) -> list[Any]:
        lifting = path(
            "<path:object_id>/lift/", self.admin_site.admin_view(self.lift), name="contacts_contact_lift"
        )
        return [lifting, *super().get_urls()]

    def lift(self, request: HttpRequest, object_id: str) -> HttpResponse:
        if not lift.may_lift(request) or not self.has_view_permission(request):
            raise PermissionDenied
        contact = self.get_object(request, object_id)
        if contact is None:
            return HttpResponseRedirect(reverse("admin:contacts_contact_changelist"))
        standing = standing_suppression(contact)
        back = reverse("admin:contacts_contact_change", args=[contact.pk])
        if standing is None and contact.status == Status.ACTIVE:
            messages.info(request, f"Nothing stands against {contact}.")
            return HttpResponseRedirect(back)
        reason = standing.reason if standing else contact.status
        return lift.view(self, request, contact, address=contact.email, reason=reason, back=back)

    @action(description="Import contacts", url_path="import", icon="upload_file", permissions=["import_file"])  # type: ignore[untyped-decorator]  # unfold has no types
    def import_file(self, request: HttpRequest) -> HttpResponse:
        return contact_import.upload(self, request)

    def has_import_file_permission(self, request: HttpRequest, *args: Any) -> bool:
        return contact_import.may_import(request)


def standing_suppression(contact: Contact) -> Suppression | None:
    """Return what stands against mailing a contact."""
    return Suppression.objects.filter(address=contact.email, lifted_at=None).first()
