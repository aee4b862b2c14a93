"""The queue: claim, start, settle, return. `campaign_recipients.status` is the job state, a batch's id the lease's token."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from mailkoenig.lib import db

READY = """
SELECT c.id
FROM campaigns AS c
JOIN sender_domains AS d ON d.id = c.domain_id
WHERE c.status = 'sending'
  AND d.status = 'active' AND (d.held_until IS NULL OR d.held_until <= statement_timestamp())
  AND (d.probe_until IS NULL OR d.probe_until <= statement_timestamp())
  AND EXISTS (SELECT FROM streams AS s WHERE s.name = 'campaigns' AND stream_room(s.id) > 0)
  AND EXISTS (
    SELECT FROM campaign_recipients AS r
    WHERE r.campaign_id = c.id AND r.status = 'pending' AND r.next_attempt_at <= statement_timestamp()
  )
ORDER BY c.id
"""


class CampaignId(NamedTuple):
    id: int


def ready() -> list[int]:
    """Return the campaigns that have people to send to now and nothing that holds them."""
    return [row.id for row in db.fetch(CampaignId, READY)]


# After a wait that the provider asked for, one call goes first.
PROBE = """
UPDATE sender_domains AS d
SET probe_until = statement_timestamp() + %(wait)s
FROM campaigns AS c
WHERE c.id = %(campaign)s AND d.id = c.domain_id
  AND d.held_until <= statement_timestamp()
  AND (d.probe_until IS NULL OR d.probe_until <= statement_timestamp())
RETURNING d.id
"""


def probe(*, campaign: int, wait: timedelta) -> bool:
    """Take the right to make the first call after a wait; the others go on waiting, at most for `wait`."""
    return db.value(PROBE, {"campaign": campaign, "wait": wait}) is not None


# The picking SELECT is a MATERIALIZED CTE: as a subquery it may be run again for each row of a join and take far
# more than its LIMIT. Ordering by next_attempt_at first keeps it on its partial index. The planner takes a LIMIT that it
# can't read for a tenth of the rows, and would read whole tables for them; so the most that a batch may hold stands there
# as a number. No more rows are locked than the outer LIMIT asks for.
CLAIM = """
WITH turn AS MATERIALIZED (
    SELECT c.id AS campaign_id, d.id AS domain_id, s.id AS stream_id, s.lease,
           least(stream_room(s.id), d.batch_limit) AS size
    FROM campaigns AS c
    JOIN sender_domains AS d ON d.id = c.domain_id
    JOIN streams AS s ON s.name = 'campaigns'
    WHERE c.id = %(campaign)s AND c.status = 'sending' AND d.status = 'active'
      AND (d.held_until IS NULL OR d.held_until <= statement_timestamp())
  AND (d.probe_until IS NULL OR d.probe_until <= statement_timestamp() OR %(probing)s)
), due AS MATERIALIZED (
    SELECT id, contact_id FROM (
        SELECT id, contact_id FROM campaign_recipients
        WHERE campaign_id = %(campaign)s AND status = 'pending' AND next_attempt_at <= statement_timestamp()
        ORDER BY next_attempt_at, id
        LIMIT 1000
        FOR UPDATE SKIP LOCKED
    ) AS first
    LIMIT coalesce((SELECT size FROM turn), 0)
), batch AS (
    INSERT INTO send_batches (id, stream_id, campaign_id, domain_id, worker, state, size, claimed_at, lease_expires_at)
    SELECT %(batch)s, stream_id, campaign_id, domain_id, %(worker)s, 'leased', (SELECT count(*) FROM due),
           statement_timestamp(), statement_timestamp() + lease
    FROM turn WHERE EXISTS (SELECT FROM due)
)
UPDATE campaign_recipients AS r
SET status = 'sending', batch_id = %(batch)s, locked_by = %(worker)s, locked_at = statement_timestamp(),
    attempts = r.attempts + 1, reason = ''
FROM due
LEFT JOIN contacts AS c ON c.id = due.contact_id
WHERE r.id = due.id
RETURNING r.id, r.email, r.name, r.attempts, coalesce(c.unsubscribe_token, ''), c.attributes
"""


class Claim(NamedTuple):
    """One leased recipient."""

    id: int
    email: str
    name: str
    attempts: int
    unsubscribe_token: str
    attributes: str | None
    """JSON; None when the contact is gone."""


def claim(*, campaign: int, batch: UUID, worker: str, probing: bool = False) -> list[Claim]:
    """Lease the next due recipients of one campaign to `worker` as the new `batch`; empty when there are none."""
    parameters = {"campaign": campaign, "batch": batch, "worker": worker, "probing": probing}
    return sorted(db.fetch(Claim, CLAIM, parameters), key=lambda row: row.id)


# The last look before the call: who may no longer be mailed, whose key the ledger already holds, whom an event of an
# earlier batch has moved on, and whose earlier batch an event of somebody else has proven to be accepted. Only a row in state sending is locked by somebody; the state itself must not be named, or the
# whole batch is read again for each of them. An address that was changed since the snapshot may be refused as the new one.
SKIP = """
WITH looked AS MATERIALIZED (
    SELECT r.id, r.locked_by, r.campaign_id, r.contact_id, coalesce(l.accepted_at, u.evidence_at) AS accepted_at, u.id AS proven,
           CASE WHEN coalesce(l.accepted_at, u.evidence_at) IS NOT NULL THEN ''
                WHEN c.id IS NULL THEN 'The contact was deleted.'
                WHEN c.status <> 'active' THEN c.status
                WHEN s.id IS NOT NULL THEN 'suppressed: ' || s.reason
                ELSE 'suppressed: the address before it was changed' END AS reason
    FROM campaign_recipients AS r
    LEFT JOIN contacts AS c ON c.id = r.contact_id
    LEFT JOIN suppressions AS s ON s.address = c.email AND s.lifted_at IS NULL
    LEFT JOIN sent_email AS l ON l.idempotency_key = 'campaign-' || r.campaign_id || ':contact-' || r.contact_id
    LEFT JOIN LATERAL (
        SELECT b.id, b.evidence_at FROM send_batches AS b WHERE b.id = r.unclear_batch_id AND b.evidence_at IS NOT NULL OFFSET 0
    ) AS u ON r.unclear_batch_id IS NOT NULL
    WHERE r.id = ANY(%(ids)s::bigint[]) AND r.batch_id = %(batch)s
      AND (r.locked_by IS NULL OR l.accepted_at IS NOT NULL OR u.id IS NOT NULL OR c.id IS NULL OR c.status <> 'active' OR s.id IS NOT NULL
           OR (c.email <> r.email AND EXISTS (
               SELECT FROM suppressions AS o WHERE o.address = r.email AND o.lifted_at IS NULL)))
), skipped AS (
    UPDATE campaign_recipients AS r
    SET status = CASE WHEN looked.accepted_at IS NULL THEN 'skipped' ELSE 'sent' END, reason = looked.reason,
        sent_at = coalesce(r.sent_at, looked.accepted_at), locked_by = NULL, locked_at = NULL,
        unclear_batch_id = CASE WHEN looked.proven IS NULL THEN r.unclear_batch_id END
    FROM looked
    WHERE r.id = looked.id AND r.batch_id = %(batch)s AND r.locked_by IS NOT NULL
), ledger AS (
    INSERT INTO sent_email (idempotency_key, batch_id, accepted_at)
    SELECT 'campaign-' || campaign_id || coalesce(':contact-' || contact_id, ':recipient-' || id), proven, accepted_at
    FROM looked WHERE proven IS NOT NULL AND locked_by IS NOT NULL
    ON CONFLICT (idempotency_key) DO NOTHING
)
SELECT id FROM looked
"""


class RecipientId(NamedTuple):
    id: int


def skip_ineligible(*, batch: UUID, ids: Sequence[int]) -> set[int]:
    """Take out of a batch who may no longer be mailed, with the reason, or has got it already; return their ids."""
    return {row.id for row in db.fetch(RecipientId, SKIP, {"batch": batch, "ids": db.array(ids)})}


# Whoever begins a call holds its stream until that is committed, so that all workers together keep to its limits.
LOCK_STREAM = """
SELECT s.id FROM streams AS s JOIN send_batches AS b ON b.stream_id = s.id
WHERE b.id = %(batch)s
FOR NO KEY UPDATE OF s
"""
START = """
UPDATE send_batches AS b
SET state = 'in_flight', size = %(people)s, version_id = %(version)s, started_at = statement_timestamp(), lease_expires_at = statement_timestamp() + s.lease
FROM streams AS s, campaigns AS c, sender_domains AS d
WHERE b.id = %(batch)s AND b.state = 'leased'
  AND s.id = b.stream_id AND stream_room(s.id) >= %(people)s
  AND c.id = b.campaign_id AND c.status = 'sending'
  AND d.id = b.domain_id AND d.status = 'active'
  AND (d.held_until IS NULL OR d.held_until <= statement_timestamp())
  AND (d.probe_until IS NULL OR d.probe_until <= statement_timestamp() OR %(probing)s)
RETURNING b.started_at
"""


def start(*, batch: UUID, people: int, version: int | None = None, probing: bool = False) -> bool:
    """Mark that the call to so many `people` may begin, within a transaction.

    False when the lease is gone, something has been paused meanwhile, or its stream has no room for them now.
    """
    db.value(LOCK_STREAM, {"batch": batch})
    return (
        db.value(START, {"batch": batch, "people": people, "version": version, "probing": probing})
        is not None
    )


# A worker that freezes here would keep its people from everybody else for as long as its connection lives.
LOCK = """
SELECT state, set_config('idle_in_transaction_session_timeout', %(patience)s, true)
FROM send_batches WHERE id = %(batch)s FOR NO KEY UPDATE
"""


def lock(batch: UUID) -> str | None:
    """Lock a batch until the transaction ends, or when nothing is heard of us any more.

    Return its state; None when it is gone.
    """
    state: str | None = db.value(LOCK, {"batch": batch, "patience": db.patience()})
    return state


# Must not name the status: the planner would take the index of all open rows (see bench notes in ARCHITECTURE).
ACCEPT = """
WITH taken AS (
    UPDATE campaign_recipients
    SET status = CASE WHEN status IN ('sending', 'unknown') THEN 'sent' ELSE status END,
        sent_at = coalesce(sent_at, statement_timestamp()), locked_by = NULL, locked_at = NULL
    WHERE id = ANY(%(ids)s::bigint[]) AND batch_id = %(batch)s
    RETURNING id, campaign_id, contact_id, sent_at
), ledger AS (
    INSERT INTO sent_email (idempotency_key, batch_id, accepted_at)
    SELECT 'campaign-' || campaign_id || coalesce(':contact-' || contact_id, ':recipient-' || id), %(batch)s, sent_at
    FROM taken
    ON CONFLICT (idempotency_key) DO NOTHING
)
SELECT count(*) FROM taken
"""


def accept(*, batch: UUID, ids: Sequence[int]) -> int:
    """Note, in the ledger too, that the provider took these of a batch; what events have moved further stays.

    Return how many there were.
    """
    return int(db.value(ACCEPT, {"batch": batch, "ids": db.array(ids)}))


RETURN = """
UPDATE campaign_recipients AS r
SET status = CASE WHEN r.attempts - %(refund)s >= s.max_attempts THEN 'failed' ELSE 'pending' END,
    attempts = r.attempts - %(refund)s, batch_id = NULL, locked_by = NULL, locked_at = NULL,
    reason = %(reason)s || CASE WHEN r.attempts - %(refund)s >= s.max_attempts
                                THEN ' Given up after ' || (r.attempts - %(refund)s) || ' attempts.' ELSE '' END,
    unclear_batch_id = CASE WHEN %(unclear)s THEN r.batch_id ELSE r.unclear_batch_id END,
    next_attempt_at = statement_timestamp() + %(after)s
FROM send_batches AS b JOIN streams AS s ON s.id = b.stream_id
WHERE b.id = %(batch)s AND r.campaign_id = b.campaign_id AND r.batch_id = b.id AND r.status IN ('sending', 'unknown')
"""


def give_back(*, batch: UUID, reason: str, after: timedelta, refund: int, unclear: bool = False) -> int:
    """Make a batch's people ready again after a wait, or failed when their attempts are used up.

    `refund` is 1 where the attempt does not count: the provider asked us to wait, or the fault is not theirs.
    `unclear` marks them as perhaps having got it already.
    """
    parameters = {"batch": batch, "reason": reason, "after": after, "refund": refund, "unclear": unclear}
    return db.execute(RETURN, parameters)


CLOSE = """
UPDATE send_batches
SET state = %(state)s, answer = %(answer)s, provider_id = %(provider_id)s, accepted = %(accepted)s,
    settled_at = statement_timestamp(), next_ask_at = NULL, held_at = NULL
WHERE id = %(batch)s
"""


def close(*, batch: UUID, state: str, answer: str = "", provider_id: str = "", accepted: int = 0) -> None:
    """Write a locked batch's outcome."""
    parameters: dict[str, Any] = {"batch": batch, "state": state, "answer": answer}
    db.execute(CLOSE, {**parameters, "provider_id": provider_id, "accepted": accepted})


UNCLEAR = """
WITH people AS (
    UPDATE campaign_recipients
    SET status = 'unknown', reason = %(reason)s, locked_by = NULL, locked_at = NULL
    WHERE campaign_id = (SELECT campaign_id FROM send_batches WHERE id = %(batch)s)
      AND batch_id = %(batch)s AND status = 'sending'
    RETURNING 1
), batch AS (
    UPDATE send_batches
    SET state = 'unknown', answer = %(reason)s, settled_at = statement_timestamp(),
        lost_worker = %(lost_worker)s, asks = 0, next_ask_at = statement_timestamp() + %(first_ask)s
    WHERE id = %(batch)s
)
SELECT count(*) FROM people
"""


def mark_unknown(*, batch: UUID, reason: str, first_ask: timedelta, lost_worker: bool = False) -> int:
    """Note of a locked batch that its people may or may not have got the mail.

    Nobody touches them until that is settled; the provider's log is asked first after `first_ask`.
    """
    parameters = {"batch": batch, "reason": reason, "first_ask": first_ask, "lost_worker": lost_worker}
    return int(db.value(UNCLEAR, parameters))


FAIL = """
UPDATE campaign_recipients
SET status = 'failed', reason = %(reason)s, locked_by = NULL, locked_at = NULL
WHERE id = ANY(%(ids)s::bigint[]) AND batch_id = %(batch)s AND status = 'sending'
"""


def fail(*, batch: UUID, ids: Sequence[int], reason: str) -> int:
    """End it for these of a batch, with the provider's words."""
    return db.execute(FAIL, {"batch": batch, "ids": db.array(ids), "reason": reason})


SPLIT = """
WITH part AS (
    INSERT INTO send_batches (id, stream_id, campaign_id, domain_id, worker, state, size, claimed_at, lease_expires_at)
    SELECT %(part)s, b.stream_id, b.campaign_id, b.domain_id, b.worker, 'leased', %(size)s,
           statement_timestamp(), statement_timestamp() + s.lease
    FROM send_batches AS b JOIN streams AS s ON s.id = b.stream_id
    WHERE b.id = %(batch)s
)
UPDATE campaign_recipients
SET batch_id = %(part)s, locked_at = statement_timestamp()
WHERE id = ANY(%(ids)s::bigint[]) AND batch_id = %(batch)s AND status = 'sending'
"""


def split_off(*, batch: UUID, part: UUID, ids: Sequence[int]) -> int:
    """Move these of a locked batch into the new batch `part` with a lease of its own; their attempts stay."""
    return db.execute(SPLIT, {"batch": batch, "part": part, "ids": db.array(ids), "size": len(ids)})


RENEW = """
UPDATE send_batches AS b SET lease_expires_at = statement_timestamp() + s.lease
FROM streams AS s
WHERE s.id = b.stream_id AND b.id = ANY(%(batches)s) AND b.state = 'leased'
"""


def renew(batches: Sequence[UUID]) -> int:
    """Go on holding batches that wait for their turn in one worker."""
    return db.execute(RENEW, {"batches": list(batches)})
