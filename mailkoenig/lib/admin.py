"""What admin lists over big tables share."""

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from unfold.admin import ModelAdmin
from unfold.views import ChangeList


class CappedPaginator(Paginator):  # type: ignore[type-arg]  # generic in the stubs only
    """Counts no further than `most` rows, so that no page of a list waits for a count of the whole table.

    What lies beyond is found by a search or a filter.
    """

    most = 10_000
    template_name = "unfold/helpers/pagination_capped.html"

    @cached_property
    def count(self) -> int:
        if not isinstance(self.object_list, QuerySet):
            return len(self.object_list)
        return self.object_list.order_by()[: self.most].count()

    @property
    def is_capped(self) -> bool:
        """Say whether there may be more rows than the list shows."""
        return self.count >= self.most


class CappedList(ChangeList):  # type: ignore[misc]  # unfold has no types
    """A list that names no total, as nobody counted one."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count


class BigTableAdmin(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """Lists of a big table, never counted whole."""

    paginator = CappedPaginator
    show_full_result_count = False
    list_per_page = 50
    sortable_by = ()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[CappedList]:
        return CappedList


class MachineAdmin(BigTableAdmin):
    """Rows that machines own: people look at them, and nobody adds, changes or deletes one by hand."""

    actions: Sequence[str] | None = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
