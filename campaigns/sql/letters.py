"""Messages by somebody's hand: taken back, tried again when they died, looked at."""

from collections.abc import Collection
from datetime import timedelta
from typing import NamedTuple

from mailkoenig.lib import db

CANCEL = """
UPDATE email_jobs SET status = 'cancelled', reason = %(reason)s
WHERE id IN (
    SELECT id FROM email_jobs WHERE id = ANY(%(ids)s::bigint[]) AND status = 'pending' ORDER BY id FOR UPDATE
) AND status = 'pending'
RETURNING id, stream_id, idempotency_key, ''
"""


class Touched(NamedTuple):
    """A message that was cancelled or made ready again, and why it had died."""

    id: int
    stream: int
    idempotency_key: str
    reason: str


def cancel(ids: Collection[int], *, reason: str) -> list[Touched]:
    """Take back those that are ready; return them."""
    return sorted(db.fetch(Touched, CANCEL, {"ids": db.array(ids), "reason": reason}))


# A worker that claims meanwhile waits for nobody: what it holds by then is not ready any more and stays.
CANCEL_READY = """
UPDATE email_jobs SET status = 'cancelled', reason = %(reason)s
WHERE id IN (
    SELECT id FROM email_jobs WHERE stream_id = %(stream)s AND status = 'pending' ORDER BY id FOR UPDATE SKIP LOCKED
) AND status = 'pending'
"""


def cancel_ready(stream: int, *, reason: str) -> int:
    """Take back everything that is ready in a stream; return how many there were."""
    return db.execute(CANCEL_READY, {"stream": stream, "reason": reason})


# With attempts anew. What the ledger holds is found before the call and counted as sent.
REQUEUE = """
WITH dead AS MATERIALIZED (
    SELECT id, stream_id, idempotency_key, reason FROM email_jobs
    WHERE status = 'failed' AND sent_at IS NULL AND id = ANY(%(ids)s::bigint[])
    ORDER BY id FOR UPDATE
), ready AS (
    UPDATE email_jobs AS j
    SET status = 'pending', reason = '', attempts = 0, batch_id = NULL, next_attempt_at = statement_timestamp(),
        due_at = statement_timestamp()
    FROM dead WHERE j.id = dead.id
)
SELECT id, stream_id, idempotency_key, reason FROM dead
"""


def requeue(ids: Collection[int]) -> list[Touched]:
    """Make dead letters ready again; return them with the reasons they had died of."""
    return sorted(db.fetch(Touched, REQUEUE, {"ids": db.array(ids)}))


REQUEUE_ALL = """
WITH dead AS MATERIALIZED (
    SELECT id, stream_id, reason FROM email_jobs
    WHERE status = 'failed' AND sent_at IS NULL AND stream_id = coalesce(%(stream)s, stream_id)
    ORDER BY id FOR UPDATE
), ready AS (
    UPDATE email_jobs AS j
    SET status = 'pending', reason = '', attempts = 0, batch_id = NULL, next_attempt_at = statement_timestamp(),
        due_at = statement_timestamp()
    FROM dead WHERE j.id = dead.id
)
SELECT stream_id, reason, count(*) FROM dead GROUP BY stream_id, reason ORDER BY stream_id, count(*) DESC, reason
"""


class Death(NamedTuple):
    """How many of a stream had died of a reason."""

    stream: int
    reason: str
    messages: int


def requeue_all(stream: int | None) -> list[Death]:
    """Make every dead letter of a stream, or of all, ready again; return what they had died of."""
    return db.fetch(Death, REQUEUE_ALL, {"stream": stream})


DEATHS = """
SELECT stream_id, reason, count(*) FROM email_jobs
WHERE status = 'failed' AND sent_at IS NULL AND stream_id = %(stream)s
GROUP BY stream_id, reason ORDER BY count(*) DESC, reason
"""


def deaths(stream: int) -> list[Death]:
    """Return what the dead letters of a stream died of, the commonest first."""
    return db.fetch(Death, DEATHS, {"stream": stream})


FILES = """
SELECT id, name, content_type, octet_length(content) FROM email_attachments WHERE message_id = %(message)s ORDER BY id
"""


class File(NamedTuple):
    """An attachment without its content, and how many bytes that has."""

    id: int
    name: str
    content_type: str
    size: int


def files(message: int) -> list[File]:
    """Return the attachments of a message."""
    return db.fetch(File, FILES, {"message": message})


# Ids are given out in the order of time, so the first of an age is found by halving, without an index of moments.
FIRST_WITHIN = """
WITH RECURSIVE halves AS (
    SELECT coalesce(min(id), 0) AS low, coalesce(max(id), 0) + 1 AS high FROM email_jobs
    UNION ALL
    SELECT CASE WHEN near.is_young THEN h.low ELSE near.middle + 1 END, CASE WHEN near.is_young THEN near.middle ELSE h.high END
    FROM halves AS h CROSS JOIN LATERAL (
        SELECT (h.low + h.high) / 2 AS middle, coalesce((
            SELECT j.created_at >= statement_timestamp() - %(age)s FROM email_jobs AS j
            WHERE j.id >= (h.low + h.high) / 2 ORDER BY j.id LIMIT 1), true) AS is_young
    ) AS near
    WHERE h.low < h.high
)
SELECT max(low) FROM halves
"""


def first_within(age: timedelta) -> int:
    """Return the id from which on messages are younger than `age`."""
    return int(db.value(FIRST_WITHIN, {"age": age}) or 0)
