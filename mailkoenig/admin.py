"""Staff, their roles, and what was done."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from mailkoenig.lib.admin import MachineAdmin
from mailkoenig.lib.marks import link, when

admin.site.index_title = "Home"
admin.site.unregister([User, Group])


@admin.register(User)
class StaffAdmin(UserAdmin, ModelAdmin):  # type: ignore[misc, type-arg]  # unfold has no types
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """Leave out who acts without being staff and stands among the users for the audit trail alone."""
        found: QuerySet[User] = super().get_queryset(request)
        return found.exclude(username__contains=" ")

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Nobody is deleted, as all that they did would go with them: take away “Active” instead."""
        return False


@admin.register(Group)
class RoleAdmin(GroupAdmin, ModelAdmin):  # type: ignore[misc]  # unfold has no types
    pass


@admin.register(LogEntry)
class TrailAdmin(MachineAdmin):
    """Who did what: nobody adds, changes or deletes a line of it."""

    list_display = ["moment", "who", "on", "kind", "what"]
    list_display_links = ["moment"]
    list_select_related = ["user", "content_type"]
    list_filter = ["action_flag"]
    ordering = ["-id"]
    search_fields = ["object_repr__startswith"]
    search_help_text = "The beginning of what it was done to, such as the name of a stream or a key"
    fields = ["moment", "who", "on", "kind", "what"]
    empty_title = "Nothing done yet"
    empty_text = (
        "Everything that staff, the command line, API tokens and workers change, send or stop is noted here."
    )

    @admin.display(description="When")
    def moment(self, entry: LogEntry) -> SafeString | None:
        return when(entry.action_time)

    @admin.display(description="Who")
    def who(self, entry: LogEntry) -> str:
        return entry.user.get_username()

    @admin.display(description="What it was done to")
    def on(self, entry: LogEntry) -> SafeString | str:
        try:
            url = entry.get_admin_url()
        except NoReverseMatch:
            url = None
        return link(entry.object_repr, url) if url and not entry.is_deletion() else entry.object_repr

    @admin.display(description="Which is")
    def kind(self, entry: LogEntry) -> str:
        return str(entry.content_type.name) if entry.content_type else ""

    @admin.display(description="What was done")
    def what(self, entry: LogEntry) -> Any:
        return entry.get_change_message() or str(entry.get_action_flag_display())
