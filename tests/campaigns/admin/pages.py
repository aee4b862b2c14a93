"""Addresses of the admin, and forms filled in as a page shows them."""

from typing import Any

from django.urls import reverse

from campaigns.forms.campaign import version
from campaigns.models import Campaign
from contacts.models import ContactList
from tests.factories import CampaignFactory, ContactListFactory, MembershipFactory


def page(campaign: Campaign, name: str = "change") -> str:
    """Return the address of a campaign's page."""
    return reverse(f"admin:campaigns_campaign_{name}", args=[campaign.pk])


def filled_in(campaign: Campaign, **changes: Any) -> dict[str, Any]:
    """Return what the form of a campaign posts, with changes."""
    return {
        "version": version(campaign),
        "name": campaign.name,
        "subject": campaign.subject,
        "preheader": campaign.preheader,
        "body_format": campaign.body_format,
        "body": campaign.body,
        "lists": [str(pk) for pk in campaign.lists.values_list("pk", flat=True)],
        "domain": str(campaign.domain_id or ""),
        "from_name": campaign.from_name,
        "from_email": campaign.from_email,
        "reply_to": campaign.reply_to,
        "track_opens": "on",
        "track_clicks": "on",
        "_continue": "1",
        **changes,
    }


def a_list(*, people: int = 2) -> ContactList:
    """Return a list with active people on it."""
    found: ContactList = ContactListFactory.create()
    for _ in range(people):
        MembershipFactory.create(list=found)
    return found


def sendable(**options: Any) -> Campaign:
    """Return a campaign that could start."""
    campaign: Campaign = CampaignFactory.create(**{"lists": [a_list()], **options})
    return campaign
