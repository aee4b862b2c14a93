"""Alerts: which begin and which are over, and who tells it. Each is one statement, so that any number of workers agree."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from mailkoenig.lib import db

# "mkalert"
LOCK = """
SELECT pg_try_advisory_xact_lock(30800908452459124)
"""


def lock() -> bool:
    """Take the right to say what is wrong until the transaction ends; False where somebody else has it."""
    return bool(db.value(LOCK))


# Whether a row is new shows in its moment. What was over only a short while ago is not told again at once.
BEGIN = """
WITH found AS (
    SELECT f.* FROM jsonb_to_recordset(%(findings)s::jsonb)
        AS f (kind text, subject text, severity text, summary text, details jsonb)
), seen AS (
    INSERT INTO alerts AS a (kind, subject, severity, summary, details, began_at, last_seen_at)
    SELECT kind, subject, severity, summary, details, statement_timestamp(), statement_timestamp() FROM found
    ON CONFLICT (kind, subject) DO UPDATE
    SET severity = excluded.severity, summary = excluded.summary, details = excluded.details,
        last_seen_at = excluded.last_seen_at, cleared_at = NULL,
        began_at = CASE WHEN a.cleared_at IS NULL THEN a.began_at ELSE excluded.began_at END,
        notified_at = CASE WHEN a.cleared_at IS NULL THEN a.notified_at END
    RETURNING a.*
), begun AS (
    SELECT seen.*, greatest(statement_timestamp(), before.cleared_at + %(quiet)s) AS due_at
    FROM seen LEFT JOIN alerts AS before ON before.id = seen.id
    WHERE seen.began_at = statement_timestamp()
), notices AS (
    INSERT INTO alert_notices (alert_id, about, way, summary, details, began_at, due_at)
    SELECT begun.id, 'began', ways.way, begun.summary, begun.details, begun.began_at, begun.due_at
    FROM begun CROSS JOIN unnest(%(ways)s::text[]) AS ways (way)
)
SELECT kind, subject, severity, summary FROM begun ORDER BY id
"""


class Changed(NamedTuple):
    """An alert that has just begun or is just over."""

    kind: str
    subject: str
    severity: str
    summary: str


def begin(findings: Sequence[dict[str, Any]], *, ways: Collection[str], quiet: timedelta) -> list[Changed]:
    """Write down what is wrong, with a notice for each way and alert that was not known; return those."""
    parameters = {"findings": json.dumps(findings), "ways": list(ways), "quiet": quiet}
    return db.fetch(Changed, BEGIN, parameters)


# Whoever was told that it began is told that it is over; who was about to be told again, is not.
CLEAR = """
WITH found AS (
    SELECT f.* FROM jsonb_to_recordset(%(findings)s::jsonb) AS f (kind text, subject text)
), over AS (
    UPDATE alerts AS a SET cleared_at = statement_timestamp()
    WHERE a.cleared_at IS NULL
      AND NOT EXISTS (SELECT FROM found WHERE found.kind = a.kind AND found.subject = a.subject)
    RETURNING a.*
), untold AS (
    DELETE FROM alert_notices AS n USING over
    WHERE n.alert_id = over.id AND n.told_at IS NULL AND n.tries = 0 AND n.due_at > statement_timestamp()
    RETURNING n.id
), notices AS (
    INSERT INTO alert_notices (alert_id, about, way, summary, details, began_at, cleared_at)
    SELECT over.id, 'cleared', n.way, over.summary, over.details, over.began_at, over.cleared_at
    FROM over JOIN alert_notices AS n ON n.alert_id = over.id AND n.about = 'began' AND n.began_at = over.began_at
    WHERE n.id NOT IN (SELECT id FROM untold)
)
SELECT kind, subject, severity, summary FROM over ORDER BY id
"""


def clear(findings: Sequence[dict[str, Any]]) -> list[Changed]:
    """Note that everything that is not among these is over; return what was not."""
    return db.fetch(Changed, CLEAR, {"findings": json.dumps(findings)})


# What began is told before it is over, by each way.
CLAIM = """
UPDATE alert_notices AS n SET claimed_until = statement_timestamp() + %(lease)s, tries = n.tries + 1
FROM alerts AS a
WHERE a.id = n.alert_id AND n.id = (
    SELECT m.id FROM alert_notices AS m
    WHERE m.told_at IS NULL AND m.due_at <= statement_timestamp()
      AND (m.claimed_until IS NULL OR m.claimed_until <= statement_timestamp())
      AND m.id <> ALL(%(tried)s::bigint[])
      AND NOT EXISTS (SELECT FROM alert_notices AS o
                      WHERE o.alert_id = m.alert_id AND o.way = m.way AND o.told_at IS NULL AND o.id < m.id)
    ORDER BY m.due_at, m.id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING n.id, n.way, n.about, a.kind, a.subject, a.severity, n.summary, n.details, n.began_at, n.cleared_at
"""


class Notice(NamedTuple):
    """One thing to tell, which is ours for a while."""

    id: int
    way: str
    about: str
    kind: str
    subject: str
    severity: str
    summary: str
    details: str
    """JSON."""
    began_at: datetime
    cleared_at: datetime | None


def claim(*, lease: timedelta, tried: Collection[int]) -> Notice | None:
    """Take the next notice that nobody else is telling and that was not tried yet."""
    return db.fetch_one(Notice, CLAIM, {"lease": lease, "tried": db.array(tried)})


TOLD = """
WITH told AS (
    UPDATE alert_notices SET told_at = statement_timestamp(), claimed_until = NULL, error = ''
    WHERE id = %(notice)s AND told_at IS NULL
    RETURNING alert_id, about, began_at
)
UPDATE alerts AS a SET notified_at = statement_timestamp()
FROM told
WHERE a.id = told.alert_id AND a.began_at = told.began_at AND told.about = 'began' AND a.notified_at IS NULL
"""


def told(notice: int) -> int:
    """Note that it was told."""
    return db.execute(TOLD, {"notice": notice})


FAILED = """
UPDATE alert_notices SET claimed_until = NULL, error = %(error)s WHERE id = %(notice)s AND told_at IS NULL
"""


def failed(notice: int, *, error: str) -> int:
    """Give a notice back for the next look."""
    return db.execute(FAILED, {"notice": notice, "error": error})


FIRING = """
SELECT kind, subject, severity, summary, began_at, notified_at FROM alerts WHERE cleared_at IS NULL ORDER BY began_at, id
"""


class Firing(NamedTuple):
    """An alert that has begun and is not over."""

    kind: str
    subject: str
    severity: str
    summary: str
    began_at: datetime
    notified_at: datetime | None


def firing() -> list[Firing]:
    """Return what is wrong, as it was written down last."""
    return db.fetch(Firing, FIRING)


FORGET = """
DELETE FROM alerts AS a WHERE a.cleared_at < statement_timestamp() - %(age)s
"""
FORGET_NOTICES = """
DELETE FROM alert_notices AS n
WHERE n.told_at < statement_timestamp() - %(age)s
   OR n.alert_id IN (SELECT id FROM alerts WHERE cleared_at < statement_timestamp() - %(age)s)
"""


def forget(*, age: timedelta) -> int:
    """Delete what was over longer ago; return how many alerts that were."""
    db.execute(FORGET_NOTICES, {"age": age})
    return db.execute(FORGET, {"age": age})
