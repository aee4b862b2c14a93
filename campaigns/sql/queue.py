"""The queue: claim people of a campaign, begin a call, close a batch. What becomes of the people is in `jobs`."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from mailkoenig.lib import db

READY = """
SELECT c.id, d.id
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


class Ready(NamedTuple):
    """A campaign that has people to send to now, and the domain they get it from."""

    campaign: int
    domain: int


def ready() -> list[Ready]:
    """Return the campaigns that have people to send to now and nothing that holds them."""
    return db.fetch(Ready, READY)


# After a wait that the provider asked for, one call goes first.
PROBE = """
UPDATE sender_domains
SET probe_until = statement_timestamp() + %(wait)s
WHERE id = %(domain)s
  AND held_until <= statement_timestamp() AND (probe_until IS NULL OR probe_until <= statement_timestamp())
RETURNING id
"""


def probe(*, domain: int, wait: timedelta) -> bool:
    """Take the right to make the first call after a wait; the others go on waiting, at most for `wait`."""
    return db.value(PROBE, {"domain": domain, "wait": wait}) is not None


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
FROM streams AS s, sender_domains AS d
WHERE b.id = %(batch)s AND b.state = 'leased'
  AND s.id = b.stream_id AND stream_room(s.id) >= %(people)s
  AND (b.campaign_id IS NULL OR EXISTS (
      SELECT FROM campaigns AS c WHERE c.id = b.campaign_id AND c.status = 'sending'))
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


CLOSE = """
UPDATE send_batches
SET state = %(state)s, answer = %(answer)s, provider_id = %(provider_id)s, accepted = %(accepted)s,
    settled_at = statement_timestamp(), next_ask_at = NULL, held_at = NULL
WHERE id = %(batch)s
"""


def close(
    *,
    batch: UUID,
    state: str,
    answer: str = "",
    provider_id: str = "",
    accepted: int = 0,
) -> None:
    """Write a locked batch's outcome."""
    parameters: dict[str, Any] = {"batch": batch, "state": state, "answer": answer}
    db.execute(CLOSE, {**parameters, "provider_id": provider_id, "accepted": accepted})


RENEW = """
UPDATE send_batches AS b SET lease_expires_at = statement_timestamp() + s.lease
FROM streams AS s
WHERE s.id = b.stream_id AND b.id = ANY(%(batches)s) AND b.state = 'leased'
"""


def renew(batches: Sequence[UUID]) -> int:
    """Go on holding batches that wait for their turn in one worker."""
    return db.execute(RENEW, {"batches": list(batches)})
