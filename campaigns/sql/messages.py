"""Messages in the queue: written under the caller's key, claimed by stream and domain, looked at again before the call."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from campaigns.models import Message, SenderDomain, Stream
from contacts import erasing
from mailkoenig.lib import db

# Written out, because for these two Django takes longer to make the statement than PostgreSQL to answer it, and a caller
# waits.
FLOW = "SELECT * FROM streams WHERE name = %(name)s"
DOMAINS = "SELECT * FROM sender_domains ORDER BY is_shared, id"


def flow(name: str) -> Stream | None:
    """Return the stream with this name."""
    return next(iter(Stream.objects.raw(FLOW, {"name": name})), None)


def domains() -> list[SenderDomain]:
    """Return every sender domain, those of our own first."""
    return list(SenderDomain.objects.raw(DOMAINS))


# Whoever comes second waits here for the first one's commit, and then finds its row.
ADD = """
INSERT INTO email_jobs (
    stream_id, domain_id, idempotency_key, digest, email, name, sender, reply_to, subject, html, text, headers, metadata,
    tags, expires_at, source, status, reason, next_attempt_at, due_at)
VALUES (
    %(stream)s, %(domain)s, %(key)s, %(digest)s, %(email)s, %(name)s, %(sender)s, %(reply_to)s, %(subject)s, %(html)s,
    %(text)s, %(headers)s::jsonb, %(metadata)s::jsonb, %(tags)s::jsonb, %(expires_at)s, %(source)s, %(status)s, %(reason)s,
    coalesce(%(send_at)s::timestamptz, statement_timestamp()), coalesce(%(send_at)s::timestamptz, statement_timestamp()))
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING id, created_at, next_attempt_at, due_at
"""


class Added(NamedTuple):
    """What the database gave a new message."""

    id: int
    created_at: datetime
    next_attempt_at: datetime
    due_at: datetime


def add(message: Message, *, send_at: datetime | None) -> Added | None:
    """Write a message unless its key is taken; return what it was given, or None."""
    columns = (
        "email",
        "name",
        "sender",
        "reply_to",
        "subject",
        "html",
        "text",
        "expires_at",
        "source",
        "status",
        "reason",
    )
    return db.fetch_one(
        Added,
        ADD,
        {name: getattr(message, name) for name in (*columns, "digest")}
        | {name: json.dumps(getattr(message, name)) for name in ("headers", "metadata", "tags")}
        | {
            "stream": message.stream_id,
            "domain": message.domain_id,
            "key": message.idempotency_key,
            "send_at": send_at,
        },
    )


KNOWN = """
SELECT id, digest, NULL::timestamptz FROM email_jobs WHERE idempotency_key = %(key)s
UNION ALL
SELECT NULL, digest, accepted_at FROM sent_email WHERE idempotency_key = %(key)s
ORDER BY 1
LIMIT 1
"""


class Known(NamedTuple):
    """What a key was used for: a message, or one that has been pruned and that only the ledger holds."""

    message: int | None
    digest: str
    accepted_at: datetime | None


def known(key: str) -> Known | None:
    """Return what a key was used for."""
    return db.fetch_one(Known, KNOWN, {"key": key})


STANDING = """
SELECT s.reason
FROM (
    SELECT scope, reason FROM suppressions WHERE address = %(address)s AND lifted_at IS NULL
    UNION ALL
    SELECT scope, reason FROM erased_suppressions WHERE digest = hmac_sha256(%(address)s, %(inner)s, %(outer)s)
) AS s
WHERE s.scope = 'all'
  AND (s.reason <> 'complained' OR NOT (SELECT sends_to_complainers FROM streams WHERE id = %(stream)s))
"""


def refusal(*, address: str, stream: int) -> str:
    """Return why a stream may not mail an address; empty where it may. Who left the newsletter still gets receipts."""
    return str(db.value(STANDING, {"address": address, "stream": stream, **erasing.key()}) or "")


REPEATED = """
UPDATE email_jobs SET repeats = repeats + 1 WHERE id = %(id)s
"""


def repeated(message: int) -> int:
    """Count that a message was asked for again."""
    return db.execute(REPEATED, {"id": message})


NOTIFY = """
SELECT pg_notify('mailkoenig', %(stream)s)
"""


def notify(stream: str) -> None:
    """Wake the workers when the present transaction commits."""
    db.value(NOTIFY, {"stream": stream})


# A domain that waits never stands in the way of another one's mail of the same stream.
READY = """
SELECT s.id, d.id
FROM streams AS s CROSS JOIN sender_domains AS d
WHERE s.id = %(stream)s AND stream_room(s.id) > 0
  AND d.status = 'active' AND (d.held_until IS NULL OR d.held_until <= statement_timestamp())
  AND (d.probe_until IS NULL OR d.probe_until <= statement_timestamp())
  AND EXISTS (
    SELECT FROM email_jobs AS j
    WHERE j.stream_id = s.id AND j.domain_id = d.id AND j.status = 'pending' AND j.next_attempt_at <= statement_timestamp()
  )
ORDER BY d.id
"""


class Ready(NamedTuple):
    """A stream that has mail to send now from a domain."""

    stream: int
    domain: int


def ready(stream: int) -> list[Ready]:
    """Return the domains from which a stream has messages due and nothing holds them."""
    return db.fetch(Ready, READY, {"stream": stream})


# As campaigns.sql.queue.CLAIM, and for the same reasons.
CLAIM = """
WITH turn AS MATERIALIZED (
    SELECT s.id AS stream_id, d.id AS domain_id, s.lease, least(stream_room(s.id), d.batch_limit, %(most)s) AS size
    FROM streams AS s CROSS JOIN sender_domains AS d
    WHERE s.id = %(stream)s AND d.id = %(domain)s AND d.status = 'active'
      AND (d.held_until IS NULL OR d.held_until <= statement_timestamp())
      AND (d.probe_until IS NULL OR d.probe_until <= statement_timestamp() OR %(probing)s)
), due AS MATERIALIZED (
    SELECT id FROM (
        SELECT id FROM email_jobs
        WHERE stream_id = %(stream)s AND domain_id = %(domain)s AND status = 'pending'
          AND next_attempt_at <= statement_timestamp()
        ORDER BY next_attempt_at, id
        LIMIT 1000
        FOR UPDATE SKIP LOCKED
    ) AS first
    LIMIT coalesce((SELECT size FROM turn), 0)
), batch AS (
    INSERT INTO send_batches (
        id, stream_id, campaign_id, message_id, domain_id, worker, state, size, claimed_at, lease_expires_at)
    SELECT %(batch)s, stream_id, NULL, CASE WHEN held.messages = 1 THEN held.message END, domain_id, %(worker)s, 'leased',
           held.messages, statement_timestamp(), statement_timestamp() + lease
    FROM turn, (SELECT count(*) AS messages, min(id) AS message FROM due) AS held
    WHERE held.messages > 0
)
UPDATE email_jobs AS j
SET status = 'sending', batch_id = %(batch)s, locked_by = %(worker)s, locked_at = statement_timestamp(),
    attempts = j.attempts + 1, reason = ''
FROM due
WHERE j.id = due.id
RETURNING j.id, j.email, j.attempts
"""


class Claim(NamedTuple):
    """One leased message."""

    id: int
    email: str
    attempts: int


def claim(
    *, stream: int, domain: int, batch: UUID, worker: str, most: int, probing: bool = False
) -> list[Claim]:
    """Lease the next due messages of a stream and domain, at most `most`, to `worker`; empty when there are none."""
    parameters = {
        "stream": stream,
        "domain": domain,
        "batch": batch,
        "worker": worker,
        "most": most,
        "probing": probing,
    }
    return sorted(db.fetch(Claim, CLAIM, parameters), key=lambda row: row.id)


# As campaigns.sql.queue.SKIP; and what is too late by now.
SKIP = """
WITH looked AS MATERIALIZED (
    SELECT j.id, j.locked_by, j.idempotency_key, j.digest, coalesce(l.accepted_at, u.evidence_at) AS accepted_at, u.id AS proven,
           CASE WHEN coalesce(l.accepted_at, u.evidence_at) IS NOT NULL THEN 'sent'
                WHEN s.id IS NOT NULL THEN 'skipped' ELSE 'expired' END AS status,
           CASE WHEN coalesce(l.accepted_at, u.evidence_at) IS NOT NULL THEN ''
                WHEN s.id IS NOT NULL THEN 'suppressed: ' || s.reason
                ELSE 'It could not leave before it expired.' END AS reason
    FROM email_jobs AS j
    JOIN streams AS t ON t.id = j.stream_id
    LEFT JOIN suppressions AS s ON s.address = j.email AND s.lifted_at IS NULL AND s.scope = 'all'
        AND (s.reason <> 'complained' OR NOT t.sends_to_complainers)
    LEFT JOIN sent_email AS l ON l.idempotency_key = j.idempotency_key
    LEFT JOIN LATERAL (
        SELECT b.id, b.evidence_at FROM send_batches AS b WHERE b.id = j.unclear_batch_id AND b.evidence_at IS NOT NULL OFFSET 0
    ) AS u ON j.unclear_batch_id IS NOT NULL
    WHERE j.id = ANY(%(ids)s::bigint[]) AND j.batch_id = %(batch)s
      AND (j.locked_by IS NULL OR l.accepted_at IS NOT NULL OR u.id IS NOT NULL OR s.id IS NOT NULL
           OR j.expires_at <= statement_timestamp())
), skipped AS (
    UPDATE email_jobs AS j
    SET status = looked.status, reason = looked.reason, sent_at = coalesce(j.sent_at, looked.accepted_at),
        locked_by = NULL, locked_at = NULL,
        unclear_batch_id = CASE WHEN looked.proven IS NULL THEN j.unclear_batch_id END
    FROM looked
    WHERE j.id = looked.id AND j.batch_id = %(batch)s AND j.locked_by IS NOT NULL
), ledger AS (
    INSERT INTO sent_email (idempotency_key, batch_id, digest, accepted_at)
    SELECT idempotency_key, proven, digest, accepted_at FROM looked WHERE proven IS NOT NULL AND locked_by IS NOT NULL
    ON CONFLICT (idempotency_key) DO NOTHING
)
SELECT id FROM looked
"""


class MessageId(NamedTuple):
    id: int


def skip_unsendable(*, batch: UUID, ids: Sequence[int]) -> set[int]:
    """Take out of a batch what may no longer be sent, with the reason, or was sent already; return their ids."""
    return {row.id for row in db.fetch(MessageId, SKIP, {"batch": batch, "ids": db.array(ids)})}


EXPIRE = """
UPDATE email_jobs SET status = 'expired', reason = 'It could not leave before it expired.'
WHERE id IN (
    SELECT id FROM email_jobs WHERE status = 'pending' AND expires_at <= statement_timestamp()
    LIMIT %(limit)s FOR UPDATE SKIP LOCKED
) AND status = 'pending'
"""


def expire(*, limit: int = 1000) -> int:
    """End what waited for too long; return how many there were."""
    return db.execute(EXPIRE, {"limit": limit})
