"""What admin lists over big tables share."""

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.utils.functional import cached_property


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
