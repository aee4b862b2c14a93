"""Lists: their names, how many are on them, and the ways to their people."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin

from contacts import sql
from contacts.models import ContactList
from mailkoenig.lib.admin import CappedList
from mailkoenig.lib.marks import link, when

COUNTED = 100_000


class ListsPage(CappedList):
    """Counts the people of all lists of a page with one statement."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list: list[Any] = list(self.result_list)
        members = sql.members([row.pk for row in self.result_list], most=COUNTED)
        for row in self.result_list:
            row.members_counted = members.get(row.pk, 0)


@admin.register(ContactList)
class ContactListAdmin(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    change_form_template = "admin/contacts/bar_form.html"
    list_display = ["name", "people", "description", "created"]
    search_fields = ["name"]
    search_help_text = "Part of a name"
    ordering = ["name"]
    list_per_page = 50
    sortable_by = ["name"]
    empty_title = "No lists yet"
    empty_text = "A campaign goes to everybody on the lists you choose for it. Add one here, or name one while importing contacts."
    fields = ["name", "description", "people", "created"]
    readonly_fields = ["people", "created"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ListsPage]:
        return ListsPage

    def get_fields(self, request: HttpRequest, obj: ContactList | None = None) -> list[str]:
        return self.fields if obj else ["name", "description"]

    @admin.display(description="People")
    def people(self, contact_list: ContactList) -> SafeString:
        count = getattr(contact_list, "members_counted", None)
        if count is None:
            count = sql.members([contact_list.pk], most=COUNTED)[contact_list.pk]
        shown = f"over {COUNTED:,}" if count > COUNTED else f"{count:,}"
        return link(shown, f"{reverse('admin:contacts_contact_changelist')}?list={contact_list.pk}")

    @admin.display(description="Made")
    def created(self, contact_list: ContactList) -> SafeString | None:
        return when(contact_list.created_at)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, ...]:
        """Name the lists alone: a million memberships go with them, and no contact does."""
        lacking = set() if self.has_delete_permission(request) else {self.opts.verbose_name}
        names = [f"{contact_list} (its contacts stay)" for contact_list in objs]
        return names, {self.opts.verbose_name_plural: len(names)}, lacking, []

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        contact_list: ContactList | None = kwargs.get("obj")
        if contact_list is not None:
            contacts = reverse("admin:contacts_contact_changelist")
            context["bar_acts"] = [
                (f"{contacts}?list={contact_list.pk}", "Its contacts", "person"),
                (
                    f"{reverse('admin:contacts_contact_import_file')}?list={contact_list.pk}",
                    "Import into it",
                    "upload_file",
                ),
            ]
        return super().render_change_form(request, context, *args, **kwargs)
