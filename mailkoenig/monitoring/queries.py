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
SELECT s.name, s.paused, s.paused_reason, s.batch_size, s.max_attempts, s.on_unknown,
       (SELECT count(*) FROM send_batches AS b WHERE b.stream_id = s.id AND b.state IN ('leased', 'in_flight')),
       (SELECT count(*) FROM send_batches AS b WHERE b.stream_id = s.id AND b.state = 'unknown'),
       (SELECT count(*) FROM send_batches AS b WHERE b.stream_id = s.id AND b.state = 'unknown' AND b.held_at IS NOT NULL)
FROM streams AS s
ORDER BY s.name
"""


class StreamState(NamedTuple):
    """A stream, its limits, and its batches that are open, unclear, and held for a person."""

    name: str
    paused: bool
    paused_reason: str
    batch_size: int
    max_attempts: int
    on_unknown: str
    open_batches: int
    unclear_batches: int
    held_batches: int


def streams() -> list[StreamState]:
    """Return every stream."""
    return db.fetch(StreamState, STREAMS)


HELD = """
SELECT held_reason FROM installation WHERE id = 1 AND held_reason <> ''
"""


def held_after_restore() -> str:
    """Return why nothing at all is sent; empty when all is well."""
    return str(db.value(HELD) or "")
