"""What every request to the API costs, in one statement, and the pages that callers turn."""

from collections.abc import Sequence
from typing import NamedTuple

from mailkoenig.lib import db

# The row of a token is its counter: two requests at once wait for each other's commit, so that commit must not wait for
# the disk. This runs in a transaction of its own; after a crash of the server a minute may be counted short.
ADMIT = """
WITH quick AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true)
), found AS MATERIALIZED (
    SELECT id FROM api_tokens, quick WHERE digest = %(digest)s AND revoked_at IS NULL
), admitted AS (
    UPDATE api_tokens AS t
    SET requests = CASE WHEN t.minute_began_at > statement_timestamp() - interval '1 minute' THEN t.requests + 1 ELSE 1 END,
        minute_began_at = CASE WHEN t.minute_began_at > statement_timestamp() - interval '1 minute' THEN t.minute_began_at
                               ELSE statement_timestamp() END,
        last_used_at = CASE WHEN t.last_used_at > statement_timestamp() - interval '1 minute' THEN t.last_used_at
                            ELSE statement_timestamp() END
    FROM found
    WHERE t.id = found.id
      AND (t.requests < t.rate_per_minute OR t.minute_began_at <= statement_timestamp() - interval '1 minute')
    RETURNING t.id
)
SELECT t.id, t.name, t.can_read, t.can_write, t.holds_contacts, t.can_stop_sending,
       ARRAY(
           SELECT s.name FROM streams AS s
           WHERE (t.all_streams AND s.kind = 'transactional')
              OR s.id IN (SELECT stream_id FROM api_token_streams WHERE apitoken_id = t.id)
           ORDER BY s.name
       ),
       EXISTS (
           SELECT FROM api_token_streams AS h JOIN streams AS s ON s.id = h.stream_id
           WHERE h.apitoken_id = t.id AND s.kind = 'campaign'
       ),
       EXISTS (SELECT FROM admitted),
       extract(epoch FROM t.minute_began_at + interval '1 minute' - statement_timestamp())::float
FROM api_tokens AS t JOIN found USING (id)
"""


class Holder(NamedTuple):
    """Who asks, what the token holds, and whether this request is within its rate; else for how many seconds it is not."""

    id: int
    name: str
    can_read: bool
    can_write: bool
    holds_contacts: bool
    can_stop_sending: bool
    streams: list[str]
    holds_campaigns: bool
    is_within_rate: bool
    wait: float


def admit(digest: str) -> Holder | None:
    """Count a request of the token with this digest; None where there is no such token, or no longer."""
    return db.fetch_one(Holder, ADMIT, {"digest": digest})


# One look goes through so many rows at most: a filter that nothing matches must not read a table of millions.
MESSAGES = """
WITH looked_at AS MATERIALIZED (
    SELECT j.id, j.stream_id, j.status FROM email_jobs AS j
    WHERE j.id < %(before)s AND (%(to)s = '' OR j.email = %(to)s)
    ORDER BY j.id DESC
    LIMIT %(most)s
), page AS (
    SELECT l.id FROM looked_at AS l JOIN streams AS s ON s.id = l.stream_id
    WHERE s.name = ANY(%(streams)s) AND (%(status)s = '' OR l.status = %(status)s)
    ORDER BY l.id DESC
    LIMIT %(limit)s
)
SELECT ARRAY(SELECT id FROM page ORDER BY id DESC), (SELECT count(*) FROM looked_at), (SELECT min(id) FROM looked_at)
"""
# Ids are given out before the commit: a reader who has passed one by would never see it. So an event is shown once every
# transaction of this database is over that began to write before the event's own. This is asked first, in a snapshot of
# its own; the second in EVENTS covers the moment between taking an id and being known as a writer.
HORIZON = """
SELECT coalesce(
    (SELECT a.backend_xid FROM pg_stat_activity AS a
     WHERE a.datname = current_database() AND a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid()
       AND age(a.backend_xid) > age(s.xmax)
     ORDER BY age(a.backend_xid) DESC LIMIT 1),
    s.xmax
)::text
FROM (SELECT pg_snapshot_xmax(pg_current_snapshot())::xid AS xmax) AS s
"""
EVENTS = """
WITH looked_at AS MATERIALIZED (
    SELECT e.id, e.campaign_recipient_id, e.message_id,
           age(e.xmin) > age(%(horizon)s::xid)
           AND e.received_at < statement_timestamp() - interval '1 second' AS is_settled
    FROM email_events AS e
    WHERE e.id > %(after)s
    ORDER BY e.id
    LIMIT %(most)s
), settled AS MATERIALIZED (
    SELECT * FROM looked_at
    WHERE id < coalesce((SELECT min(id) FROM looked_at WHERE NOT is_settled), 9223372036854775807)
), page AS (
    SELECT l.id FROM settled AS l
    WHERE (l.campaign_recipient_id IS NOT NULL AND %(campaigns)s)
       OR EXISTS (
           SELECT FROM email_jobs AS j JOIN streams AS s ON s.id = j.stream_id
           WHERE j.id = l.message_id AND s.name = ANY(%(streams)s)
       )
    ORDER BY l.id
    LIMIT %(limit)s
)
SELECT ARRAY(SELECT id FROM page ORDER BY id), (SELECT count(*) FROM settled), (SELECT max(id) FROM settled)
"""


class Look(NamedTuple):
    """The ids of a page, how many rows were looked at for it, and the last of them."""

    ids: list[int]
    looked_at: int
    last: int | None


def messages(*, before: int, to: str, status: str, streams: Sequence[str], limit: int, most: int) -> Look:
    """Return the next messages of these streams, the newest first."""
    parameters = {
        "before": before,
        "to": to,
        "status": status,
        "streams": list(streams),
        "limit": limit,
        "most": most,
    }
    return db.fetch_one(Look, MESSAGES, parameters) or Look([], 0, None)


def events(*, after: int, campaigns: bool, streams: Sequence[str], limit: int, most: int) -> Look:
    """Return the next events about messages of these streams, and about campaigns, the oldest first."""
    parameters = {
        "horizon": db.value(HORIZON),
        "after": after,
        "campaigns": campaigns,
        "streams": list(streams),
        "limit": limit,
        "most": most,
    }
    return db.fetch_one(Look, EVENTS, parameters) or Look([], 0, None)
