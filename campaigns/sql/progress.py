"""How far a campaign is, for the page that a person watches."""

from datetime import datetime
from typing import NamedTuple

from mailkoenig.lib import db

# One walk over the campaign's rows for both: the numbers of each state, and the commonest reasons.
TALLY = """
WITH tally AS MATERIALIZED (
    SELECT status, left(reason, 300) AS reason, count(*) AS people, count(sent_at) AS accepted,
           count(delivered_at) AS delivered, count(opened_at) AS opened, count(clicked_at) AS clicked,
           count(machine_opened_at) AS machine_opened
    FROM campaign_recipients WHERE campaign_id = %(campaign)s GROUP BY status, left(reason, 300)
)
SELECT status, '' AS reason, sum(people)::bigint, sum(accepted)::bigint, sum(delivered)::bigint, sum(opened)::bigint,
       sum(clicked)::bigint, sum(machine_opened)::bigint
FROM tally GROUP BY status
UNION ALL
(SELECT status, reason, people, accepted, delivered, opened, clicked, machine_opened
 FROM tally WHERE reason <> '' AND status NOT IN ('sending', 'sent', 'delivered') ORDER BY people DESC, reason LIMIT 12)
"""


class Tally(NamedTuple):
    """People in one state, all of them or, with a reason, those it is about."""

    status: str
    reason: str
    people: int
    accepted: int
    delivered: int
    opened: int
    clicked: int
    machine_opened: int


def tally(campaign: int) -> list[Tally]:
    """Return the numbers of each state, then the commonest reasons."""
    return db.fetch(Tally, TALLY, {"campaign": campaign})


PACE = """
SELECT statement_timestamp(), max(settled_at),
       coalesce(sum(accepted) FILTER (WHERE settled_at > statement_timestamp() - interval '1 minute'), 0)::bigint,
       (SELECT min(next_attempt_at) FROM campaign_recipients AS r WHERE r.campaign_id = %(campaign)s AND r.status = 'pending')
FROM send_batches WHERE campaign_id = %(campaign)s
"""


class Pace(NamedTuple):
    """The database's time, when something was last settled, how much in the last minute, and when the next one is due."""

    now: datetime
    settled_at: datetime | None
    last_minute: int
    due_at: datetime | None


def pace(campaign: int) -> Pace:
    """Return how quickly a campaign moves."""
    found = db.fetch_one(Pace, PACE, {"campaign": campaign})
    if found is None:
        raise LookupError("an aggregate always has one row")
    return found
