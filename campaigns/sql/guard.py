"""What the guard rails look at: results of the mail that a campaign has sent since it was started or last resumed."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from mailkoenig.lib import db

# One process looks at a campaign at a time, and not again before the wait is over; nor while its snapshot is taken. What was sent a day ago has its results.
TURN = """
WITH due AS MATERIALIZED (
    SELECT id FROM campaigns
    WHERE (status IN ('sending', 'paused') OR finished_at > statement_timestamp() - interval '1 day')
      AND (guarded_at IS NULL OR guarded_at <= statement_timestamp() - %(wait)s)
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE campaigns AS c SET guarded_at = statement_timestamp() FROM due WHERE c.id = due.id
RETURNING c.id
"""


class CampaignId(NamedTuple):
    id: int


def turn(*, wait: timedelta) -> list[int]:
    """Take and return the campaigns that nobody has looked at for so long."""
    return sorted(row.id for row in db.fetch(CampaignId, TURN, {"wait": wait}))


# The few for whom it ended badly, by their own index. A mail that was refused for another reason than a dead address has
# bounced, too, and says nothing about the list; only a dead address is suppressed for it.
BAD = """
SELECT c.id, c.resumed_at, c.guard_results, c.guard_bounces, c.guard_complaints, bad.bounces, bad.complaints
FROM campaigns AS c
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE r.status = 'bounced' AND EXISTS (
               SELECT FROM suppressions AS s WHERE s.address = r.email AND s.reason = 'bounced')) AS bounces,
           count(*) FILTER (WHERE r.status = 'complained') AS complaints
    FROM campaign_recipients AS r
    WHERE r.campaign_id = c.id AND r.status IN ('failed', 'skipped', 'bounced', 'complained', 'unsubscribed')
      AND r.status IN ('bounced', 'complained') AND r.sent_at > coalesce(c.resumed_at, '-infinity')
) AS bad
WHERE c.id = ANY(%(campaigns)s::bigint[])
"""


class Bad(NamedTuple):
    """What went wrong with a campaign now, and what was counted before."""

    campaign: int
    resumed_at: datetime | None
    counted: int
    counted_bounces: int
    counted_complaints: int
    bounces: int
    complaints: int


def bad(campaigns: Sequence[int]) -> list[Bad]:
    """Return how many dead addresses and complaints these campaigns had."""
    return db.fetch(Bad, BAD, {"campaigns": db.array(campaigns)})


RESULTS = """
SELECT count(*) FROM (
    SELECT FROM campaign_recipients AS r
    WHERE r.campaign_id = %(campaign)s AND r.sent_at > coalesce(%(since)s::timestamptz, '-infinity')
      AND (r.delivered_at IS NOT NULL OR r.status IN ('bounced', 'complained', 'unsubscribed'))
    LIMIT %(enough)s
) AS results
"""


def results(campaign: int, *, since: datetime | None, enough: int) -> int:
    """Count the results of what was accepted after a moment, no further than `enough`."""
    return int(db.value(RESULTS, {"campaign": campaign, "since": since, "enough": enough}))


COUNT = """
UPDATE campaigns
SET guard_results = %(results)s, guard_bounces = %(bounces)s, guard_complaints = %(complaints)s
WHERE id = %(campaign)s AND resumed_at IS NOT DISTINCT FROM %(resumed_at)s
"""


def count(campaign: int, *, resumed_at: datetime | None, results: int, bounces: int, complaints: int) -> int:
    """Write down what was found, unless the campaign was resumed meanwhile."""
    return db.execute(
        COUNT,
        {
            "campaign": campaign,
            "resumed_at": resumed_at,
            "results": results,
            "bounces": bounces,
            "complaints": complaints,
        },
    )


JUDGED = """
SELECT id, name, status, guard_results, guard_bounces, guard_complaints
FROM campaigns
WHERE (status IN ('sending', 'paused') OR finished_at > statement_timestamp() - interval '1 day')
  AND (guard_bounces > 0 OR guard_complaints > 0)
ORDER BY id
"""


class Judged(NamedTuple):
    """What was counted of a campaign that is on its way or was sent within a day."""

    id: int
    name: str
    status: str
    results: int
    bounces: int
    complaints: int


def judged() -> list[Judged]:
    """Return the campaigns that something was counted of."""
    return db.fetch(Judged, JUDGED)


# What was counted must still stand: a person who resumes it has seen that.
PAUSE = """
UPDATE campaigns SET status = 'paused', status_reason = %(reason)s
WHERE id = %(campaign)s AND status = 'sending' AND guard_bounces = %(bounces)s AND guard_complaints = %(complaints)s
"""


def pause(campaign: Judged, *, reason: str) -> int:
    """Stop a campaign for what was counted of it."""
    parameters = {"campaign": campaign.id, "bounces": campaign.bounces, "complaints": campaign.complaints}
    return db.execute(PAUSE, {**parameters, "reason": reason})
