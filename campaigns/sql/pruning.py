"""Forgetting messages that are old and over. The ledger stays: a key that was used to send is never sent again."""

from datetime import datetime, timedelta
from typing import NamedTuple

from mailkoenig.lib import db

# Ids come in the order of time, so the oldest are found without an index of moments. What is not over yet stays, however
# old: it may still be sent, or wait for a person.
PRUNE_MESSAGES = """
WITH oldest AS MATERIALIZED (
    SELECT id, status FROM email_jobs
    WHERE id > %(after)s AND id <= coalesce((
        SELECT max(id) FROM (SELECT id FROM email_jobs WHERE id > %(after)s ORDER BY id LIMIT %(limit)s) AS chunk), 0)
      AND created_at < statement_timestamp() - %(age)s
), finished AS MATERIALIZED (
    SELECT id FROM oldest WHERE status NOT IN ('pending', 'sending', 'unknown')
), files AS (
    DELETE FROM email_attachments AS a USING finished WHERE a.message_id = finished.id
), gone AS (
    DELETE FROM email_jobs AS j USING finished
    WHERE j.id = finished.id AND j.status NOT IN ('pending', 'sending', 'unknown')
    RETURNING j.id
)
SELECT (SELECT count(*) FROM gone), (SELECT max(id) FROM oldest)
"""


class PrunedMessages(NamedTuple):
    """How many went, and the last id that was old enough; None where none was."""

    messages: int
    last: int | None


def messages(*, age: timedelta, after: int, limit: int) -> PrunedMessages:
    """Delete messages that are over and older than `age`, with their files, among the next `limit` ids above `after`."""
    found = db.fetch_one(PrunedMessages, PRUNE_MESSAGES, {"age": age, "after": after, "limit": limit})
    return found or PrunedMessages(0, None)


# A batch is younger than its messages, so those of an old one are gone, unless they are not over yet.
PRUNE_BATCHES = """
WITH oldest AS MATERIALIZED (
    SELECT id, claimed_at, campaign_id, state FROM send_batches
    WHERE claimed_at > %(after)s AND claimed_at < statement_timestamp() - %(age)s
    ORDER BY claimed_at LIMIT %(limit)s
), kept AS MATERIALIZED (
    SELECT unclear_batch_id AS id FROM email_jobs
    WHERE unclear_batch_id IS NOT NULL AND status = 'pending' AND created_at < statement_timestamp() - %(age)s
), gone AS (
    DELETE FROM send_batches AS b USING oldest
    WHERE b.id = oldest.id AND oldest.campaign_id IS NULL AND b.state IN ('accepted', 'returned')
      AND NOT EXISTS (SELECT FROM email_jobs AS j WHERE j.batch_id = b.id)
      AND NOT EXISTS (SELECT FROM kept WHERE kept.id = b.id)
    RETURNING b.id
)
SELECT (SELECT count(*) FROM gone), (SELECT max(claimed_at) FROM oldest)
"""


class PrunedBatches(NamedTuple):
    """How many went, and the moment of the last that was old enough; None where none was."""

    batches: int
    last: datetime | None


def batches(*, age: timedelta, after: datetime, limit: int) -> PrunedBatches:
    """Delete calls for messages that are older than `age`, among the next `limit` after a moment."""
    found = db.fetch_one(PrunedBatches, PRUNE_BATCHES, {"age": age, "after": after, "limit": limit})
    return found or PrunedBatches(0, None)
