"""Rows that machines own: people look at them, and nobody adds, changes or deletes one by hand."""

from typing import Any

from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from mailkoenig.lib.admin import CappedPaginator


class CappedList(ChangeList):  # type: ignore[misc]  # unfold has no types
    """A list that names no total, as nobody counted one."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count


class MachineAdmin(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """Lists of a big table, never counted whole, and pages to read."""

    actions = None
    paginator = CappedPaginator
    show_full_result_count = False
    list_per_page = 50
    sortable_by = ()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[CappedList]:
        return CappedList

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
