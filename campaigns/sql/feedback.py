"""What an event of the provider does to its recipient or message, and to its batch."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from campaigns.sql import jobs
from campaigns.sql.jobs import Jobs
from mailkoenig.lib import db

# The batch is touched first and only by the first event that proves its acceptance. The recipient is the one that our own
# variable names, if the address agrees; who failed without having been accepted is at the bottom of the ladder. Planning is
# most of this statement's cost, so FIND is one of its own.
RECORD = """
WITH evidence AS (
    UPDATE send_batches SET evidence_at = %(occurred_at)s
    WHERE id = %(batch)s AND evidence_at IS NULL
    RETURNING state
), proof AS MATERIALIZED (
    SELECT (SELECT state FROM evidence) AS state
), found AS MATERIALIZED (
    SELECT r.id, r.sent_at FROM {table} AS r WHERE r.id = %(row)s AND r.email = %(address)s
), moved AS (
    UPDATE {table} AS r
    SET (status, reason, locked_by, locked_at) = (
            SELECT CASE WHEN rises THEN %(reached)s ELSE r.status END, CASE WHEN rises THEN %(reason)s ELSE r.reason END,
                   CASE WHEN rises THEN NULL ELSE r.locked_by END, CASE WHEN rises THEN NULL ELSE r.locked_at END
            FROM (SELECT coalesce(
                array_position(%(ladder)s::text[], %(reached)s::text)
                > coalesce(array_position(%(ladder)s::text[], CASE WHEN r.sent_at IS NOT NULL THEN r.status::text END), 0),
                false) AS rises) AS compared
        ),
        sent_at = CASE WHEN %(reached)s::text IS NULL THEN r.sent_at ELSE coalesce(r.sent_at, %(occurred_at)s) END,
        unclear_batch_id = CASE WHEN r.sent_at IS NULL AND r.unclear_batch_id = %(batch)s AND r.status NOT IN ('sending', 'unknown')
                                THEN NULL ELSE r.unclear_batch_id END,
        delivered_at = CASE WHEN %(reached)s = 'delivered' THEN least(r.delivered_at, %(occurred_at)s) ELSE r.delivered_at END,
        opened_at = CASE WHEN %(opened)s THEN least(r.opened_at, %(occurred_at)s) ELSE r.opened_at END,
        clicked_at = CASE WHEN %(clicked)s THEN least(r.clicked_at, %(occurred_at)s) ELSE r.clicked_at END,
        machine_opened_at = CASE WHEN %(machine_opened)s THEN least(r.machine_opened_at, %(occurred_at)s) ELSE r.machine_opened_at END,
        machine_clicked_at = CASE WHEN %(machine_clicked)s THEN least(r.machine_clicked_at, %(occurred_at)s) ELSE r.machine_clicked_at END
    FROM found
    CROSS JOIN proof
    WHERE r.id = found.id
    RETURNING r.id, {key} AS key, {digest} AS digest, r.sent_at, r.batch_id
), ledger AS (
    INSERT INTO sent_email (idempotency_key, batch_id, digest, accepted_at)
    SELECT moved.key, coalesce(%(batch)s::uuid, moved.batch_id), moved.digest, moved.sent_at
    FROM moved JOIN found ON found.id = moved.id
    WHERE moved.sent_at IS NOT NULL AND found.sent_at IS NULL AND coalesce(moved.batch_id, %(batch)s::uuid) IS NOT NULL
    ON CONFLICT (idempotency_key) DO NOTHING
)
SELECT (SELECT id FROM moved), (SELECT state FROM proof)
"""


class Recorded(NamedTuple):
    """The row that an event was about, and the state of its batch where this was the first proof of acceptance."""

    row: int | None
    proven: str | None


# Where our variable is missing or names somebody else: by the batch, or the provider's id of it, and the address.
FIND = """
WITH batch AS MATERIALIZED (
    SELECT id, campaign_id FROM send_batches WHERE id = %(batch)s
    UNION ALL
    SELECT id, campaign_id FROM send_batches WHERE provider_id = %(message_id)s AND provider_id <> ''
)
SELECT r.id, b.campaign_id
FROM batch AS b
JOIN contacts AS c ON c.email = %(address)s
JOIN campaign_recipients AS r ON r.campaign_id = b.campaign_id AND r.contact_id = c.id
UNION ALL
SELECT j.id, NULL FROM batch AS b JOIN email_jobs AS j ON j.batch_id = b.id AND j.email = %(address)s
LIMIT 1
"""


class Found(NamedTuple):
    """A row that an event is about, of a campaign or, without one, a message."""

    row: int
    campaign: int | None


def find(*, batch: UUID | None, message_id: str, address: str) -> Found | None:
    """Return the row of a batch that goes to an address."""
    return db.fetch_one(Found, FIND, {"batch": batch, "message_id": message_id, "address": address})


def record(
    *,
    held: Jobs,
    row: int | None,
    batch: UUID | None,
    address: str,
    reached: str | None,
    ladder: Sequence[str],
    reason: str,
    occurred_at: datetime,
    moment: str,
) -> Recorded:
    """Move a row up to the state `reached`, and note the `moment` (opened, machine_clicked, …) it is about."""
    flags = {name: name == moment for name in ("opened", "clicked", "machine_opened", "machine_clicked")}
    parameters = {
        "row": row,
        "batch": batch,
        "address": address,
        "reached": reached,
        "ladder": list(ladder),
        "reason": reason,
        "occurred_at": occurred_at,
        **flags,
    }
    return db.fetch_planned(Recorded, jobs.written(RECORD, held), parameters) or Recorded(None, None)


# Mail of a batch that we do not know, to somebody of a campaign that we do: it was sent after the backup that this database
# was restored from. What the ledger holds is not sent again.
REMEMBER = """
INSERT INTO sent_email (idempotency_key, batch_id, accepted_at)
SELECT 'campaign-' || c.id || ':contact-' || p.id, %(batch)s::uuid, %(occurred_at)s
FROM campaigns AS c JOIN contacts AS p ON p.email = %(address)s
WHERE c.id = %(campaign)s AND NOT EXISTS (SELECT FROM send_batches AS b WHERE b.id = %(batch)s::uuid)
ON CONFLICT (idempotency_key) DO NOTHING
"""


def remember(*, campaign: int, batch: UUID, address: str, occurred_at: datetime) -> int:
    """Note in the ledger that somebody was sent a campaign by a batch that this database has forgotten."""
    parameters = {"campaign": campaign, "batch": batch, "address": address, "occurred_at": occurred_at}
    return db.execute(REMEMBER, parameters)


# For acceptances that tell nothing new, many at once. Only the batch's first proof is written.
ACCEPTED_ALREADY = """
WITH given AS (
    SELECT * FROM unnest(
        %(recipients)s::bigint[], %(addresses)s::text[], %(batches)s::uuid[], %(moments)s::timestamptz[]
    ) WITH ORDINALITY AS given (recipient, address, batch, occurred_at, place)
), settled AS MATERIALIZED (
    SELECT given.place, given.batch, given.occurred_at
    FROM given
    JOIN send_batches AS b ON b.id = given.batch AND b.state = 'accepted'
    JOIN campaign_recipients AS r ON r.id = given.recipient AND r.email = given.address
    WHERE r.sent_at IS NOT NULL AND r.status = ANY(%(ladder)s)
), evidence AS (
    UPDATE send_batches AS b SET evidence_at = first.occurred_at
    FROM (SELECT batch, min(occurred_at) AS occurred_at FROM settled GROUP BY batch) AS first
    WHERE b.id = first.batch AND b.evidence_at IS NULL
)
SELECT place FROM settled
"""


class Place(NamedTuple):
    place: int


def accepted_already(
    *,
    recipients: Sequence[int | None],
    addresses: Sequence[str],
    batches: Sequence[UUID | None],
    moments: Sequence[datetime],
    ladder: Sequence[str],
) -> set[int]:
    """Return the places, from 1, of acceptances of people and batches that are known as accepted."""
    parameters = {
        "recipients": list(recipients),
        "addresses": list(addresses),
        "batches": list(batches),
        "moments": list(moments),
        "ladder": list(ladder),
    }
    return {row.place for row in db.fetch(Place, ACCEPTED_ALREADY, parameters)}
