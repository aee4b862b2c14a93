"""A list that a campaign still takes its people from can't be deleted: the rest of them would silently get nothing."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from campaigns.models import Campaign
from contacts.admin.contact_list import ContactListAdmin
from contacts.models import ContactList

Status = Campaign.Status
NEEDS_ITS_LISTS = Q(status=Status.SCHEDULED) | Q(
    status__in=[Status.SENDING, Status.PAUSED], snapshot_finished_at__isnull=True
)

admin.site.unregister(ContactList)


@admin.register(ContactList)
class GuardedListAdmin(ContactListAdmin):
    """The lists' own pages, which know nothing of campaigns, with this one rule on top."""

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, ...]:
        names, counts, lacking, protected = super().get_deleted_objects(objs, request)
        users = Campaign.objects.filter(NEEDS_ITS_LISTS, lists__in=objs).distinct().only("name", "status")
        return names, counts, lacking, [*protected, *(in_use(campaign) for campaign in users)]


def in_use(campaign: Campaign) -> str:
    """Say why a list must stay."""
    if campaign.status == Status.SCHEDULED:
        return f"Campaign “{campaign}” is scheduled to it: choose other lists there, or unschedule it, first."
    return f"Campaign “{campaign}” is taking its people from it: wait until it has them all, or cancel it."
