"""How the queue stands, from indexes that hold only what is open."""

from datetime import datetime
from typing import NamedTuple

from mailkoenig.lib import db

CAMPAIGNS = """
SELECT c.id, c.name, c.status, d.name, d.status,
       coalesce(nullif(c.status_reason, ''), nullif(d.paused_reason, ''),
                CASE WHEN d.held_until > statement_timestamp() THEN d.held_reason END, '') AS waits_for,
       CASE WHEN d.held_until > statement_timestamp() THEN d.held_until END,
       c.snapshot_finished_at IS NOT NULL,
       (SELECT count(*) FROM campaign_recipients AS r WHERE r.campaign_id = c.id AND r.status = 'pending'),
       (SELECT count(*) FROM campaign_recipients AS r
        WHERE r.campaign_id = c.id AND r.status IN ('sending', 'unknown') AND r.status = 'sending'),
       (SELECT count(*) FROM campaign_recipients AS r
        WHERE r.campaign_id = c.id AND r.status IN ('sending', 'unknown') AND r.status = 'unknown'),
       (SELECT extract(epoch FROM statement_timestamp() - min(r.next_attempt_at))::float
        FROM campaign_recipients AS r
        WHERE r.campaign_id = c.id AND r.status = 'pending' AND r.next_attempt_at <= statement_timestamp())
FROM campaigns AS c LEFT JOIN sender_domains AS d ON d.id = c.domain_id
WHERE c.status IN ('sending', 'paused')
ORDER BY c.id
"""


class InMotion(NamedTuple):
    """A campaign that has begun and is not over. `oldest_ready` is an age in seconds."""

    id: int
    name: str
    status: str
    domain: str | None
    domain_status: str | None
    waits_for: str
    held_until: datetime | None
    is_snapshot_complete: bool
    ready: int
    leased: int
    unknown: int
    oldest_ready: float | None


def campaigns_in_motion() -> list[InMotion]:
    """Return every campaign that is being sent or paused."""
    return db.fetch(InMotion, CAMPAIGNS)


STREAMS = """
SELECT s.name, s.kind, s.paused, s.paused_reason, s.paused_by, s.draining, s.concurrency, s.rate_per_minute, s.burst,
       s.daily_cap, s.batch_size, s.max_attempts, s.on_unknown, extract(epoch FROM s.age_budget)::float,
       extract(epoch FROM least(
           here.at - (here.at::date + s.quiet_until
                      - CASE WHEN here.at::time < s.quiet_until THEN interval '1 day' ELSE interval '0' END),
           CASE WHEN s.daily_cap IS NOT NULL THEN here.at - date_trunc('day', here.at) END))::float
FROM streams AS s
CROSS JOIN LATERAL (SELECT statement_timestamp() AT TIME ZONE s.time_zone AS at) AS here
ORDER BY s.name
"""


class Limits(NamedTuple):
    """A stream as it is set. `age_budget` is in seconds, and so is for how long it may have sent since its last quiet hours or,
    with a cap, since its day began.
    """

    name: str
    kind: str
    paused: bool
    paused_reason: str
    paused_by: str
    draining: bool
    concurrency: int
    rate_per_minute: int | None
    burst: int | None
    daily_cap: int | None
    batch_size: int
    max_attempts: int
    on_unknown: str
    age_budget: float
    open_for: float | None


def limits() -> list[Limits]:
    """Return every stream."""
    return db.fetch(Limits, STREAMS)


# Nobody waits for a count of more: the answer would be the same.
MOST = 1_000_000

# Every try that the provider puts off moves next_attempt_at, so the age goes by since when a mail is due: of a message its
# own moment, of a campaign's people when it was started or last resumed. Who waits for another try is not ready, and old.
WAITING = """
SELECT s.name, w.ready, w.later, extract(epoch FROM statement_timestamp() - (
           SELECT min(j.due_at) FROM email_jobs AS j
           WHERE j.stream_id = s.id AND j.status = 'pending' AND j.due_at <= statement_timestamp()))::float
FROM streams AS s
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE due) AS ready, count(*) FILTER (WHERE NOT due) AS later FROM (
        SELECT j.next_attempt_at <= statement_timestamp() AS due FROM email_jobs AS j
        WHERE j.stream_id = s.id AND j.status = 'pending' LIMIT %(most)s) AS pending
) AS w
WHERE s.kind = 'transactional'
UNION ALL
SELECT 'campaigns', coalesce(sum(w.ready), 0)::bigint, coalesce(sum(w.later), 0)::bigint, extract(epoch FROM
       statement_timestamp() - min(greatest(c.resumed_at, least(c.started_at, w.first_at))) FILTER (WHERE w.first_at IS NOT NULL))::float
FROM campaigns AS c
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE due) AS ready, count(*) FILTER (WHERE NOT due) AS later, (
        SELECT min(r.next_attempt_at) FROM campaign_recipients AS r WHERE r.campaign_id = c.id AND r.status = 'pending') AS first_at
    FROM (SELECT r.next_attempt_at <= statement_timestamp() AS due FROM campaign_recipients AS r
          WHERE r.campaign_id = c.id AND r.status = 'pending' LIMIT %(most)s) AS pending
) AS w
WHERE c.status = 'sending'
"""


class Waiting(NamedTuple):
    """Mail of a stream that nobody holds: due now, and later; the age of the oldest in seconds since it was due."""

    stream: str
    ready: int
    later: int
    oldest: float | None


def waiting(*, most: int = MOST) -> list[Waiting]:
    """Return what waits in each stream, counted up to `most` for each of its campaigns."""
    return db.fetch(Waiting, WAITING, {"most": most})


OPEN = """
SELECT s.name, b.state, count(*), sum(b.size)::bigint,
       extract(epoch FROM statement_timestamp() - min(CASE WHEN b.state = 'leased' THEN b.claimed_at ELSE b.started_at END))::float,
       count(b.held_at), coalesce(sum(b.size) FILTER (WHERE b.held_at IS NOT NULL), 0)::bigint,
       extract(epoch FROM statement_timestamp() - min(b.held_at))::float
FROM (
    SELECT stream_id, state, size, claimed_at, started_at, NULL::timestamptz AS held_at FROM send_batches
    WHERE state IN ('leased', 'in_flight')
    UNION ALL
    SELECT stream_id, state, size, claimed_at, started_at, held_at FROM send_batches WHERE state = 'unknown'
) AS b
JOIN streams AS s ON s.id = b.stream_id
GROUP BY s.name, b.state
"""


class Open(NamedTuple):
    """Batches of a stream in one state that is not the end, the mails in them, and those held for a person. Ages in seconds."""

    stream: str
    state: str
    batches: int
    mails: int
    oldest: float
    held_batches: int
    held: int
    oldest_held: float | None


def open_batches() -> list[Open]:
    """Return what is leased, in flight or unknown in each stream."""
    return db.fetch(Open, OPEN)


# A campaign's failures stand on its own page.
DEAD = """
SELECT s.name, (SELECT count(*) FROM (
    SELECT FROM email_jobs AS j WHERE j.stream_id = s.id AND j.status = 'failed' LIMIT 1000000) AS dead)
FROM streams AS s WHERE s.kind = 'transactional'
"""


class Dead(NamedTuple):
    stream: str
    messages: int


def dead_letters() -> dict[str, int]:
    """Return how many messages of each stream failed and wait for somebody to requeue them."""
    return {row.stream: row.messages for row in db.fetch(Dead, DEAD)}


LAST = """
SELECT s.name, answered.answer_class, answered.answer, extract(epoch FROM statement_timestamp() - answered.settled_at)::float,
       (SELECT extract(epoch FROM statement_timestamp() - max(a.settled_at))::float FROM (
            SELECT b.settled_at FROM send_batches AS b
            WHERE b.stream_id = s.id AND b.state = 'accepted'
              AND b.started_at > statement_timestamp() - s.age_budget - interval '3 minutes'
            ORDER BY b.started_at DESC LIMIT 100) AS a),
       (SELECT count(*) FROM (
            SELECT FROM send_batches AS b
            WHERE b.stream_id = s.id AND b.started_at > statement_timestamp() - s.age_budget
            ORDER BY b.started_at DESC LIMIT 1000) AS begun)
FROM streams AS s
LEFT JOIN LATERAL (
    SELECT b.answer_class, b.answer, b.settled_at FROM send_batches AS b
    WHERE b.stream_id = s.id AND b.started_at > statement_timestamp() - interval '1 day' AND b.answer_class <> ''
    ORDER BY b.started_at DESC LIMIT 1
) AS answered ON true
"""


class Last(NamedTuple):
    """What a stream's provider said last, within a day, and how many seconds ago; how long ago it last took a mail, if that was
    within the budget or a little longer; and how many calls were begun within the budget, counted up to 1,000."""

    stream: str
    answer_class: str | None
    answer: str | None
    answered: float | None
    accepted: float | None
    calls: int


def last_answers() -> dict[str, Last]:
    """Return the last answer of each stream by its name."""
    return {row.stream: row for row in db.fetch(Last, LAST)}


WORKERS = """
SELECT name, streams, doing, extract(epoch FROM statement_timestamp() - seen_at)::float,
       extract(epoch FROM statement_timestamp() - started_at)::float,
       stopped_at IS NULL AND seen_at > statement_timestamp() - interval '1 minute'
FROM workers
WHERE seen_at > statement_timestamp() - interval '1 day'
ORDER BY stopped_at IS NULL AND seen_at > statement_timestamp() - interval '1 minute' DESC, name, seen_at DESC
"""


class Worker(NamedTuple):
    """A worker of the last day, as it last said it was. Alive: it said so within the last minute. Ages in seconds."""

    name: str
    streams: str
    doing: str
    seen: float
    runs: float
    is_alive: bool


def workers() -> list[Worker]:
    """Return the workers of the last day, those alive first."""
    return db.fetch(Worker, WORKERS)


PAUSED = """
SELECT name, paused_reason FROM sender_domains WHERE status = 'paused' ORDER BY name
"""


class PausedDomain(NamedTuple):
    name: str
    reason: str


def paused_domains() -> list[PausedDomain]:
    """Return the domains that nothing is sent from."""
    return db.fetch(PausedDomain, PAUSED)


HELD = """
SELECT held_reason FROM installation WHERE id = 1 AND held_reason <> ''
"""


def held_after_restore() -> str:
    """Return why nothing at all is sent; empty when all is well."""
    return str(db.value(HELD) or "")


STOPPED = """
SELECT 'All sending was stopped' || CASE WHEN stopped_by <> '' THEN ' by ' || stopped_by ELSE '' END || ': '
       || coalesce(nullif(stopped_reason, ''), 'nobody said why.')
FROM installation WHERE id = 1 AND stopped_at IS NOT NULL
"""


def stopped() -> str:
    """Say that a person has stopped all sending; empty when nobody has."""
    return str(db.value(STOPPED) or "")
