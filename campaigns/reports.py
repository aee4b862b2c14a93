"""Numbers of a campaign, from its own rows."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils.timezone import localtime

from campaigns.models import Recipient
from mailkoenig.lib import db
from mailkoenig.lib.counting import many

COUNTS = """
SELECT status, count(*) FROM campaign_recipients WHERE campaign_id = %(campaign)s GROUP BY status
"""


class StatusCount(NamedTuple):
    status: str
    people: int


def counts(campaign: int) -> dict[str, int]:
    """Return how many recipients are in each state, 0 included."""
    found = {row.status: row.people for row in db.fetch(StatusCount, COUNTS, {"campaign": campaign})}
    return {status.value: found.get(status.value, 0) for status in Recipient.Status}


ENGAGEMENT = """
SELECT count(*) AS selected, count(sent_at) AS accepted, count(delivered_at) AS delivered,
       count(opened_at) AS opened, count(clicked_at) AS clicked, count(machine_opened_at) AS machine_opened
FROM campaign_recipients WHERE campaign_id = %(campaign)s
"""


class Engagement(NamedTuple):
    """People, each counted once: accepted by the provider, delivered to their server, opened and clicked by themselves."""

    selected: int
    accepted: int
    delivered: int
    opened: int
    clicked: int
    machine_opened: int


def engagement(campaign: int) -> Engagement:
    """Return what came of a campaign."""
    found = db.fetch_one(Engagement, ENGAGEMENT, {"campaign": campaign})
    return found or Engagement(0, 0, 0, 0, 0, 0)


UNKNOWN = """
SELECT r.batch_id::text, b.started_at, count(*), b.answer, b.asks, b.finding, b.next_ask_at, b.held_at IS NOT NULL
FROM campaign_recipients AS r JOIN send_batches AS b ON b.id = r.batch_id
WHERE r.campaign_id = %(campaign)s AND r.status = 'unknown'
GROUP BY b.id, r.batch_id
ORDER BY b.started_at
"""


class UnknownBatch(NamedTuple):
    """A batch of which nobody knows yet whether the provider took it."""

    batch: str
    since: datetime
    people: int
    answer: str
    asks: int
    finding: str
    next_ask_at: datetime | None
    is_held: bool

    def standing(self) -> str:
        """Say what was tried and what happens next."""
        tried = f"Asked {many(self.asks, 'time')}: {self.finding}" if self.asks else "Not asked yet."
        if self.is_held:
            return f"{tried} It waits for a decision."
        return (
            f"{tried} The provider's log is asked next at {localtime(self.next_ask_at):%H:%M:%S %Z}."
            if self.next_ask_at
            else tried
        )


def unknown_batches(campaign: int) -> list[UnknownBatch]:
    """Return a campaign's unclear batches, the oldest first."""
    return db.fetch(UnknownBatch, UNKNOWN, {"campaign": campaign})


# Who may have got it twice, or not at all: those whose outcome is open, and those sent again without proof.
AT_RISK = """
SELECT r.id, r.email, r.status, coalesce(r.unclear_batch_id, r.batch_id)::text, b.started_at, b.finding, b.held_at IS NOT NULL
FROM campaign_recipients AS r JOIN send_batches AS b ON b.id = coalesce(r.unclear_batch_id, r.batch_id)
WHERE r.campaign_id = %(campaign)s AND (r.status = 'unknown' OR r.unclear_batch_id IS NOT NULL) AND r.id > %(after)s
ORDER BY r.id
LIMIT %(limit)s
"""


class AtRisk(NamedTuple):
    """One recipient whose outcome was never cleared up, and what was found about the batch."""

    id: int
    email: str
    status: str
    batch: str
    since: datetime
    finding: str
    is_held: bool


def at_risk(campaign: int, *, after: int = 0, limit: int = 1000) -> list[AtRisk]:
    """Return the next people of a campaign who may have got it twice or not at all, by recipient id."""
    return db.fetch(AtRisk, AT_RISK, {"campaign": campaign, "after": after, "limit": limit})


# The names that the people we know have attributes of; a rare name costs a look at everybody, so only asked at a start.
HAS_ATTRIBUTE = """
SELECT EXISTS (SELECT FROM contacts WHERE attributes ? %(name)s)
"""
SOME_ATTRIBUTES = """
SELECT DISTINCT jsonb_object_keys(attributes) FROM (SELECT attributes FROM contacts ORDER BY id DESC LIMIT 1000) AS newest
"""


class Name(NamedTuple):
    name: str


def known_attributes(asked: Collection[str]) -> frozenset[str]:
    """Return which of the names that are asked for somebody has, with others that are common, for a suggestion."""
    common = {row.name for row in db.fetch(Name, SOME_ATTRIBUTES)}
    rare = {name for name in set(asked) - common if db.value(HAS_ATTRIBUTE, {"name": name})}
    return frozenset(common | rare)


# Only what the provider took can be heard of. One campaign is looked at whole, all of them over the last days.
SILENT = """
SELECT b.campaign_id, max(d.name), min(b.settled_at), count(*)
FROM send_batches AS b JOIN sender_domains AS d ON d.id = b.domain_id
WHERE b.state = 'accepted' AND b.campaign_id = %(campaign)s
GROUP BY b.campaign_id
HAVING min(b.settled_at) <= statement_timestamp() - %(after)s AND count(b.evidence_at) = 0
"""
ALL_SILENT = """
SELECT b.campaign_id, max(d.name), min(b.settled_at), count(*)
FROM send_batches AS b JOIN sender_domains AS d ON d.id = b.domain_id
WHERE b.state = 'accepted' AND b.campaign_id IS NOT NULL AND b.claimed_at > statement_timestamp() - interval '2 days'
GROUP BY b.campaign_id
HAVING min(b.settled_at) <= statement_timestamp() - %(after)s AND count(b.evidence_at) = 0
ORDER BY b.campaign_id
"""


class Silent(NamedTuple):
    """A campaign that the provider took, `since` when, and has reported nothing of at all."""

    campaign: int
    domain: str
    since: datetime
    batches: int


def silent_campaigns(*, after: timedelta, campaign: int | None = None) -> list[Silent]:
    """Return the campaigns whose first acceptance is longer than `after` ago and of which no event has come back."""
    statement = ALL_SILENT if campaign is None else SILENT
    return db.fetch(Silent, statement, {"after": after, "campaign": campaign})
