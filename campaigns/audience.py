"""Who a campaign would go to if it started now."""

from dataclasses import dataclass

from campaigns.models import Campaign
from campaigns.sql import audience

# A person waits for the page; past this it says "very many" and asks for the campaign's name instead.
PATIENCE_MS = 8_000

WORDS = {
    "unsubscribed": "unsubscribed",
    "bounced": "bounced",
    "complained": "called our mail spam",
    "manual": "suppressed by a person",
}


@dataclass(frozen=True, slots=True)
class Audience:
    """People, each counted once however many of the lists they are on."""

    people: int
    left_out: tuple[tuple[str, int], ...]
    """Why, in words, and how many; the largest first."""

    @property
    def out(self) -> int:
        """Return how many are left out in all."""
        return sum(people for _, people in self.left_out)


def count(campaign: Campaign, *, milliseconds: int | None = None) -> Audience | None:
    """Count the people on a campaign's lists; None when they are too many to count while somebody waits."""
    lists = list(campaign.lists.values_list("pk", flat=True))
    shares = audience.count(lists=lists, milliseconds=milliseconds or PATIENCE_MS)
    if shares is None:
        return None
    return Audience(
        people=sum(share.people for share in shares if not share.left_out),
        left_out=tuple(
            (WORDS.get(share.left_out, share.left_out), share.people) for share in shares if share.left_out
        ),
    )
