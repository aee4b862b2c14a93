"""Numbers of a campaign, from its own rows."""

from typing import NamedTuple

from campaigns.models import Recipient
from mailkoenig.lib import db

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
SELECT r.batch_id::text, b.started_at, count(*), b.answer
FROM campaign_recipients AS r JOIN send_batches AS b ON b.id = r.batch_id
WHERE r.campaign_id = %(campaign)s AND r.status = 'unknown'
GROUP BY r.batch_id, b.started_at, b.answer
ORDER BY b.started_at
"""


class UnknownBatch(NamedTuple):
    """A batch of which nobody knows yet whether the provider took it."""

    batch: str
    since: object
    people: int
    answer: str


def unknown_batches(campaign: int) -> list[UnknownBatch]:
    """Return a campaign's unclear batches, the oldest first."""
    return db.fetch(UnknownBatch, UNKNOWN, {"campaign": campaign})
