"""What becomes of the rows that a batch holds: the same statements for people of a campaign and for messages.

The row's `status` is the job state, the batch's id the lease's token: whoever holds another one changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import NamedTuple
from uuid import UUID

from mailkoenig.lib import db


@dataclass(frozen=True)
class Jobs:
    """A table of jobs; its statements differ in these names only."""

    table: str
    scope: str
    """The column that its batches have too; with the batch it finds what is open by a partial index."""
    key: str
    """What the ledger knows a row `r` by."""
    digest: str
    """What the ledger remembers of what it said."""

    def accept(self, *, batch: UUID, ids: Sequence[int]) -> int:
        """Note, in the ledger too, that the provider took these of a batch; what events have moved further stays.

        Return how many there were.
        """
        return int(db.value(written(ACCEPT, self), {"batch": batch, "ids": db.array(ids)}))

    def give_back(
        self, *, batch: UUID, reason: str, after: timedelta, refund: int, unclear: bool = False
    ) -> int:
        """Make what a batch holds ready again after a wait, or failed when its attempts are used up.

        `refund` is 1 where the attempt does not count: the provider asked us to wait, or the fault is not theirs.
        `unclear` marks them as perhaps having got it already.
        """
        parameters = {"batch": batch, "reason": reason, "after": after, "refund": refund, "unclear": unclear}
        return db.execute(written(RETURN, self), parameters)

    def mark_unknown(
        self, *, batch: UUID, reason: str, first_ask: timedelta, lost_worker: bool = False
    ) -> int:
        """Note of a locked batch that its people may or may not have got the mail.

        Nobody touches them until that is settled; the provider's log is asked first after `first_ask`.
        """
        parameters = {"batch": batch, "reason": reason, "first_ask": first_ask, "lost_worker": lost_worker}
        return int(db.value(written(UNCLEAR, self), parameters))

    def fail(self, *, batch: UUID, ids: Sequence[int], reason: str) -> int:
        """End it for these of a batch, with the provider's words."""
        return db.execute(written(FAIL, self), {"batch": batch, "ids": db.array(ids), "reason": reason})

    def split_off(self, *, batch: UUID, part: UUID, ids: Sequence[int]) -> int:
        """Move these of a locked batch into the new batch `part` with a lease of its own; their attempts stay."""
        parameters = {"batch": batch, "part": part, "ids": db.array(ids), "size": len(ids)}
        return db.execute(written(SPLIT, self), parameters)

    def unknown(self, batch: UUID) -> list[int]:
        """Return the rows of a batch whose outcome is not known."""
        return [row.id for row in db.fetch(RowId, written(UNKNOWN, self), {"batch": batch})]

    def sample(self, batch: UUID, *, limit: int) -> Sequence[str]:
        """Return the addresses of some of an unclear batch."""
        parameters = {"batch": batch, "limit": limit}
        return [row.email for row in db.fetch(Address, written(SAMPLE, self), parameters)]


RECIPIENTS = Jobs(
    table="campaign_recipients",
    scope="campaign_id",
    key="'campaign-' || r.campaign_id || coalesce(':contact-' || r.contact_id, ':recipient-' || r.id)",
    digest="''",
)
MESSAGES = Jobs(table="email_jobs", scope="stream_id", key="r.idempotency_key", digest="r.digest")


def of(campaign: int | None) -> Jobs:
    """Return the jobs that a batch of this campaign, or of none, holds."""
    return MESSAGES if campaign is None else RECIPIENTS


@cache
def written(statement: str, jobs: Jobs) -> str:
    """Return a statement about these jobs."""
    return statement.format(table=jobs.table, scope=jobs.scope, key=jobs.key, digest=jobs.digest)


class RowId(NamedTuple):
    id: int


class Address(NamedTuple):
    email: str


# Must not name the status: the planner would take the index of all open rows (see bench notes in ARCHITECTURE).
ACCEPT = """
WITH taken AS (
    UPDATE {table} AS r
    SET status = CASE WHEN status IN ('sending', 'unknown') THEN 'sent' ELSE status END,
        sent_at = coalesce(sent_at, statement_timestamp()), locked_by = NULL, locked_at = NULL
    WHERE id = ANY(%(ids)s::bigint[]) AND batch_id = %(batch)s
    RETURNING {key} AS key, {digest} AS digest, sent_at
), ledger AS (
    INSERT INTO sent_email (idempotency_key, batch_id, digest, accepted_at)
    SELECT key, %(batch)s, digest, sent_at FROM taken
    ON CONFLICT (idempotency_key) DO NOTHING
)
SELECT count(*) FROM taken
"""

RETURN = """
UPDATE {table} AS r
SET status = CASE WHEN r.attempts - %(refund)s >= s.max_attempts THEN 'failed' ELSE 'pending' END,
    attempts = r.attempts - %(refund)s, batch_id = NULL, locked_by = NULL, locked_at = NULL,
    reason = %(reason)s || CASE WHEN r.attempts - %(refund)s >= s.max_attempts
                                THEN ' Given up after ' || (r.attempts - %(refund)s) || ' attempts.' ELSE '' END,
    unclear_batch_id = CASE WHEN %(unclear)s THEN r.batch_id ELSE r.unclear_batch_id END,
    next_attempt_at = statement_timestamp() + %(after)s
FROM send_batches AS b JOIN streams AS s ON s.id = b.stream_id
WHERE b.id = %(batch)s AND r.{scope} = b.{scope} AND r.batch_id = b.id AND r.status IN ('sending', 'unknown')
"""

UNCLEAR = """
WITH people AS (
    UPDATE {table}
    SET status = 'unknown', reason = %(reason)s, locked_by = NULL, locked_at = NULL
    WHERE {scope} = (SELECT {scope} FROM send_batches WHERE id = %(batch)s)
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

FAIL = """
UPDATE {table}
SET status = 'failed', reason = %(reason)s, locked_by = NULL, locked_at = NULL
WHERE id = ANY(%(ids)s::bigint[]) AND batch_id = %(batch)s AND status = 'sending'
"""

SPLIT = """
WITH part AS (
    INSERT INTO send_batches (id, stream_id, campaign_id, domain_id, worker, state, size, claimed_at, lease_expires_at)
    SELECT %(part)s, b.stream_id, b.campaign_id, b.domain_id, b.worker, 'leased', %(size)s,
           statement_timestamp(), statement_timestamp() + s.lease
    FROM send_batches AS b JOIN streams AS s ON s.id = b.stream_id
    WHERE b.id = %(batch)s
)
UPDATE {table}
SET batch_id = %(part)s, locked_at = statement_timestamp()
WHERE id = ANY(%(ids)s::bigint[]) AND batch_id = %(batch)s AND status = 'sending'
"""

UNKNOWN = """
SELECT id FROM {table}
WHERE {scope} = (SELECT {scope} FROM send_batches WHERE id = %(batch)s) AND batch_id = %(batch)s AND status = 'unknown'
"""

SAMPLE = """
SELECT r.email
FROM {table} AS r JOIN send_batches AS b ON b.id = r.batch_id AND b.{scope} = r.{scope}
WHERE b.id = %(batch)s AND r.status = 'unknown'
ORDER BY r.id LIMIT %(limit)s
"""
