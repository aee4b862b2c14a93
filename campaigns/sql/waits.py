"""Why a stream may not begin a call now: the conditions of the function stream_room, one by one, and when each ends."""

from datetime import datetime
from typing import NamedTuple

from mailkoenig.lib import db

# Each CASE is one of stream_room's; a test holds the two together. A window has room again when the newest mail that
# fills it, counted from now backwards, has left it.
WAITS = """
SELECT s.name, s.time_zone, s.paused, s.paused_by, s.paused_reason, s.draining,
       i.stopped_at, coalesce(i.stopped_by, ''), coalesce(i.stopped_reason, ''), coalesce(i.held_reason, ''),
       CASE WHEN CASE WHEN s.quiet_from < s.quiet_until
                      THEN here.at::time >= s.quiet_from AND here.at::time < s.quiet_until
                      ELSE here.at::time >= s.quiet_from OR here.at::time < s.quiet_until END
            THEN (here.at::date + s.quiet_until
                  + CASE WHEN here.at::time < s.quiet_until THEN interval '0' ELSE interval '1 day' END)
                 AT TIME ZONE s.time_zone END,
       s.concurrency,
       (SELECT count(*) FROM send_batches AS b
        WHERE b.stream_id = s.id AND b.state = 'in_flight'
          AND b.started_at > statement_timestamp() - interval '2 minutes') >= s.concurrency,
       s.rate_per_minute,
       (SELECT max(w.started_at) + interval '61 seconds' FROM (
            SELECT b.started_at, sum(b.size) OVER (ORDER BY b.started_at DESC) AS mails FROM send_batches AS b
            WHERE b.stream_id = s.id AND b.started_at > statement_timestamp() - interval '61 seconds') AS w
        WHERE w.mails >= s.rate_per_minute),
       s.burst,
       (SELECT max(w.started_at) + interval '60 seconds' * s.burst / s.rate_per_minute FROM (
            SELECT b.started_at, sum(b.size) OVER (ORDER BY b.started_at DESC) AS mails FROM send_batches AS b
            WHERE b.stream_id = s.id
              AND b.started_at > statement_timestamp() - interval '60 seconds' * s.burst / s.rate_per_minute) AS w
        WHERE w.mails >= s.burst),
       s.daily_cap,
       CASE WHEN s.daily_cap IS NOT NULL THEN  -- else the whole day would be added up for nothing
           CASE WHEN (SELECT coalesce(sum(b.size), 0) FROM send_batches AS b
                      WHERE b.stream_id = s.id AND b.state <> 'returned'
                        AND b.started_at >= date_trunc('day', here.at) AT TIME ZONE s.time_zone) >= s.daily_cap
                THEN (date_trunc('day', here.at) + interval '1 day') AT TIME ZONE s.time_zone END END,
       d.name, d.status, d.paused_reason, d.held_until, d.held_reason, d.probe_until,
       statement_timestamp()
FROM streams AS s
CROSS JOIN LATERAL (SELECT statement_timestamp() AT TIME ZONE s.time_zone AS at) AS here
LEFT JOIN installation AS i ON i.id = 1
LEFT JOIN LATERAL (
    SELECT d.name, d.status, d.paused_reason, d.held_until, d.held_reason, d.probe_until
    FROM sender_domains AS d
    WHERE (d.status <> 'active' OR d.held_until > statement_timestamp() OR d.probe_until > statement_timestamp())
      AND CASE WHEN s.kind = 'campaign'
               THEN EXISTS (SELECT FROM campaigns AS c WHERE c.domain_id = d.id AND c.status = 'sending')
               ELSE EXISTS (SELECT FROM email_jobs AS j
                            WHERE j.stream_id = s.id AND j.domain_id = d.id AND j.status = 'pending') END
) AS d ON true
WHERE %(stream)s::text IS NULL OR s.name = %(stream)s
ORDER BY s.name, d.name
"""


class Facts(NamedTuple):
    """What is so of a stream and of one domain that its mail waits for, if there is any. A moment is when it ends."""

    stream: str
    time_zone: str
    is_paused: bool
    paused_by: str
    paused_reason: str
    is_draining: bool
    stopped_at: datetime | None
    stopped_by: str
    stopped_reason: str
    held_after_restore: str
    quiet_until: datetime | None
    concurrency: int
    has_all_calls_open: bool
    rate: int | None
    rate_until: datetime | None
    burst: int | None
    burst_until: datetime | None
    daily_cap: int | None
    cap_until: datetime | None
    domain: str | None
    domain_status: str | None
    domain_reason: str | None
    held_until: datetime | None
    held_reason: str | None
    probe_until: datetime | None
    now: datetime


def facts(stream: str | None = None) -> list[Facts]:
    """Return one row for each stream, or for this one, and for each domain that holds mail of it."""
    return db.fetch(Facts, WAITS, {"stream": stream})


USAGE = """
SELECT (SELECT count(*) FROM send_batches AS b
        WHERE b.stream_id = s.id AND b.state = 'in_flight'
          AND b.started_at > statement_timestamp() - interval '2 minutes'),
       (SELECT coalesce(sum(b.size), 0)::bigint FROM send_batches AS b
        WHERE b.stream_id = s.id AND b.started_at > statement_timestamp() - interval '61 seconds'),
       CASE WHEN s.daily_cap IS NOT NULL THEN (
           SELECT coalesce(sum(b.size), 0)::bigint FROM send_batches AS b
           WHERE b.stream_id = s.id AND b.state <> 'returned'
             AND b.started_at >= date_trunc('day', statement_timestamp() AT TIME ZONE s.time_zone)
                                 AT TIME ZONE s.time_zone) END,
       statement_timestamp()
FROM streams AS s WHERE s.id = %(stream)s
"""


class Usage(NamedTuple):
    """What of a stream's limits is used now: open calls, mails of the last minute, and of today where that is limited."""

    calls: int
    last_minute: int
    today: int | None
    now: datetime


def usage(stream: int) -> Usage | None:
    """Return it; None where there is no such stream."""
    return db.fetch_one(Usage, USAGE, {"stream": stream})


# Counted no further than anybody reads.
WAITING = """
SELECT count(*) FROM (
    SELECT FROM streams AS s JOIN email_jobs AS j ON j.stream_id = s.id AND j.status = 'pending'
    WHERE s.id = %(stream)s
    UNION ALL
    SELECT FROM streams AS s CROSS JOIN campaigns AS c
    JOIN campaign_recipients AS r ON r.campaign_id = c.id AND r.status = 'pending'
    WHERE s.id = %(stream)s AND s.kind = 'campaign' AND c.status = 'sending'
    LIMIT %(most)s
) AS mails
"""


def waiting(stream: int, *, most: int) -> int:
    """Return how many mails of a stream wait to be sent, counted up to `most`."""
    return int(db.value(WAITING, {"stream": stream, "most": most}) or 0)
