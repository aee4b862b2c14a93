"""What was sent is kept: each batch names the version of its campaign that its people got."""

import hashlib
from functools import lru_cache

from campaigns.calls import Letter, sender
from campaigns.models import Campaign, ContentVersion

FIELDS = ("subject", "preheader", "body", "body_format", "reply_to")


def of(letter: Letter) -> int:
    """Return the id of the version that a campaign is now, kept from the first batch of it on."""
    return kept(letter.campaign.pk, content(letter.campaign), sender(letter.campaign, letter.domain))


def content(campaign: Campaign) -> tuple[str, ...]:
    """Return everything that an author can change, in the order of FIELDS."""
    return tuple(getattr(campaign, field) for field in FIELDS)


@lru_cache(maxsize=64)
def kept(campaign: int, texts: tuple[str, ...], from_header: str) -> int:
    """Return the id of a version, written if it is new."""
    digest = hashlib.sha256("\0".join((*texts, from_header)).encode()).hexdigest()
    version, _ = ContentVersion.objects.get_or_create(
        campaign_id=campaign,
        digest=digest,
        defaults={**dict(zip(FIELDS, texts, strict=True)), "sender": from_header},
    )
    return version.pk
