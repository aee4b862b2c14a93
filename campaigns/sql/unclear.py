"""Batches whose outcome is not known: which one to ask about next, and what was found."""

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from mailkoenig.lib import db

# Taking a batch pushes it on, so that no other worker asks at the same time and a crash while asking loses nothing.
ASK = """
UPDATE send_batches AS b
SET next_ask_at = statement_timestamp() + %(guard)s
FROM streams AS s, sender_domains AS d
WHERE b.id = (
    SELECT id FROM send_batches
    WHERE state = 'unknown' AND next_ask_at <= statement_timestamp()
    ORDER BY next_ask_at LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED
) AND s.id = b.stream_id AND d.id = b.domain_id
RETURNING b.id, d.name, b.started_at, b.asks, s.on_unknown, b.lost_worker, b.answer,
          b.campaign_id, statement_timestamp() - b.started_at
"""


class Question(NamedTuple):
    """A batch to ask about: when its call began, how often the log was asked, what its stream wants, what became of it."""

    batch: UUID
    domain: str
    started_at: datetime
    asks: int
    on_unknown: str
    lost_worker: bool
    answer: str
    campaign: int | None
    age: timedelta


def next_question(*, guard: timedelta) -> Question | None:
    """Take the unclear batch that is due longest; nobody else takes it for `guard`."""
    return db.fetch_one(Question, ASK, {"guard": guard})


WAIT = """
UPDATE send_batches
SET asks = asks + 1, finding = %(finding)s, next_ask_at = greatest(settled_at + %(after)s, statement_timestamp())
WHERE id = %(batch)s AND state = 'unknown'
"""


def wait(*, batch: UUID, finding: str, after: timedelta) -> int:
    """Note what the log said, and ask again `after` the outcome became unclear."""
    return db.execute(WAIT, {"batch": batch, "finding": finding, "after": after})


HOLD = """
UPDATE send_batches
SET asks = asks + 1, finding = %(finding)s, next_ask_at = NULL, held_at = statement_timestamp()
WHERE id = %(batch)s AND state = 'unknown'
"""


def hold(*, batch: UUID, finding: str) -> int:
    """Leave it to a person; an event of the provider may still settle it."""
    return db.execute(HOLD, {"batch": batch, "finding": finding})


SETTLED = """
UPDATE send_batches
SET finding = %(finding)s, settled_by = %(by)s, next_ask_at = NULL, held_at = NULL
WHERE id = %(batch)s
"""


def settled(*, batch: UUID, finding: str, by: str = "") -> int:
    """Note why an unclear batch is no longer unclear."""
    return db.execute(SETTLED, {"batch": batch, "finding": finding, "by": by})
