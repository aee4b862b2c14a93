"""Staff, their roles, and what they did."""

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from mailkoenig.lib.admin import MachineAdmin

admin.site.index_title = "Home"
admin.site.unregister([User, Group])


@admin.register(User)
class StaffAdmin(UserAdmin, ModelAdmin):  # type: ignore[misc, type-arg]  # unfold has no types
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Group)
class RoleAdmin(GroupAdmin, ModelAdmin):  # type: ignore[misc]  # unfold has no types
    pass


@admin.register(LogEntry)
class TrailAdmin(MachineAdmin):
    """Who did what: nobody adds, changes or deletes a line of it."""

    list_display = ["action_time", "user", "what", "object_repr", "get_change_message"]
    list_select_related = ["user", "content_type"]
    list_filter = ["action_flag"]
    ordering = ["-id"]
    empty_title = "Nothing done yet"
    empty_text = "Everything that staff change, send or stop is noted here."

    @admin.display(description="What")
    def what(self, entry: LogEntry) -> str:
        return str(entry.content_type) if entry.content_type else ""
