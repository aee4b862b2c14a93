"""How far the provider's logs have been read, and who reads them."""

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from mailkoenig.lib import db

# Nothing of a domain came back before its first batch, and the smallest plan keeps a log for a day.
ADD = """
INSERT INTO poll_cursors (domain_id, read_to)
SELECT d.id, greatest(
    statement_timestamp() - %(furthest)s,
    (SELECT min(b.claimed_at) FROM send_batches AS b WHERE b.domain_id = d.id)
)
FROM sender_domains AS d
WHERE NOT EXISTS (SELECT FROM poll_cursors AS p WHERE p.domain_id = d.id)
ON CONFLICT DO NOTHING
"""


def add(*, furthest: timedelta) -> int:
    """Begin to read the logs of new domains: from the first batch on, but no more than `furthest` back."""
    return db.execute(ADD, {"furthest": furthest})


# The clock may have been ahead once; a reading never begins later than it would by the clock as it is now.
TAKE = """
UPDATE poll_cursors AS p
SET lease = %(lease)s, lease_expires_at = statement_timestamp() + %(guard)s,
    position = coalesce(p.position, least(p.read_to, statement_timestamp()) - %(overlap)s),
    began_at = coalesce(p.began_at, statement_timestamp())
FROM sender_domains AS d
WHERE p.domain_id = (
    SELECT domain_id FROM poll_cursors
    WHERE next_at <= statement_timestamp()
      AND (lease_expires_at IS NULL OR lease_expires_at <= statement_timestamp())
    ORDER BY next_at, domain_id LIMIT 1
    FOR UPDATE SKIP LOCKED
) AND d.id = p.domain_id
RETURNING p.lease, d.name, p.position, p.began_at
"""


class Reading(NamedTuple):
    """A domain's log to be read from one moment up to another; `lease` is the right to do so."""

    lease: UUID
    domain: str
    begin: datetime
    end: datetime


def take(*, lease: UUID, guard: timedelta, overlap: timedelta) -> Reading | None:
    """Take the log that is due longest; nobody else reads it for `guard`."""
    return db.fetch_one(Reading, TAKE, {"lease": lease, "guard": guard, "overlap": overlap})


ADVANCE = """
UPDATE poll_cursors
SET position = %(position)s, lease_expires_at = statement_timestamp() + %(guard)s, failures = 0, finding = ''
WHERE lease = %(lease)s
"""


def advance(*, lease: UUID, position: datetime, guard: timedelta) -> bool:
    """Note how far the reading has come, and hold it on; False when somebody else has taken it over."""
    return bool(db.execute(ADVANCE, {"lease": lease, "position": position, "guard": guard}))


RELEASE = """
UPDATE poll_cursors SET next_at = statement_timestamp(), lease = NULL, lease_expires_at = NULL WHERE lease = %(lease)s
"""


def release(lease: UUID) -> int:
    """Let anybody go on with the reading, after the other logs that are due."""
    return db.execute(RELEASE, {"lease": lease})


FINISH = """
UPDATE poll_cursors
SET read_to = began_at, position = NULL, began_at = NULL, next_at = statement_timestamp() + %(after)s,
    lease = NULL, lease_expires_at = NULL, failures = 0, finding = ''
WHERE lease = %(lease)s
"""


def finish(*, lease: UUID, after: timedelta) -> int:
    """Note that the log was read up to the moment that the reading began; it is read again after a while."""
    return db.execute(FINISH, {"lease": lease, "after": after})


PUT_OFF = """
WITH before AS (SELECT domain_id, finding FROM poll_cursors WHERE lease = %(lease)s FOR UPDATE)
UPDATE poll_cursors AS p
SET next_at = statement_timestamp() + least(%(after)s * power(2, least(p.failures, 10)), greatest(%(after)s, %(longest)s)),
    lease = NULL, lease_expires_at = NULL, failures = p.failures + 1, finding = %(finding)s
FROM before
WHERE p.domain_id = before.domain_id
RETURNING before.finding
"""


def put_off(*, lease: UUID, finding: str, after: timedelta, longest: timedelta) -> str | None:
    """Note why the log could not be read, and try again later, each time after longer; return what was noted before."""
    parameters = {"lease": lease, "finding": finding, "after": after, "longest": longest}
    before: str | None = db.value(PUT_OFF, parameters)
    return before


# A reading that is under way began earlier and ends earlier; the one after it is wanted at once.
HURRY = """
UPDATE poll_cursors SET next_at = statement_timestamp(), failures = 0, finding = ''
WHERE lease IS NULL AND read_to < %(moment)s AND (finding = '' OR %(anew)s)
"""


def hurry(moment: datetime, *, anew: bool) -> int:
    """Have every log read now that was not read up to a moment; `anew` also those that could not be."""
    return db.execute(HURRY, {"moment": moment, "anew": anew})


BEHIND = """
SELECT d.name, CASE WHEN p.lease IS NULL THEN p.finding ELSE '' END
FROM poll_cursors AS p JOIN sender_domains AS d ON d.id = p.domain_id
WHERE p.read_to < %(moment)s
ORDER BY d.name
"""


class Behind(NamedTuple):
    """A log that was not read up to a moment, and why, unless that is still to come."""

    domain: str
    finding: str


def behind(moment: datetime) -> list[Behind]:
    """Return the logs that were not read up to a moment."""
    return db.fetch(Behind, BEHIND, {"moment": moment})
