"""Whose turn it is, without looking."""

from campaigns.mail import CampaignTurn
from campaigns.models import Campaign


def turn_of(campaign: Campaign) -> CampaignTurn:
    """Return the turn of a campaign, whether it has anybody to send to or not."""
    return CampaignTurn(campaign.pk, campaign.domain_id or 0)
