"""The statements of an import, in the order in which they run, all in one transaction.

Contacts are locked in the order of their addresses, and only those that change: two imports at once never wait for each
other in a circle, and an unsubscribe waits for an import only where the import changes that very contact.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.db import connection

from mailkoenig.lib import db

STAGE = """
SET LOCAL work_mem = '64MB';
CREATE TEMPORARY TABLE import_rows (
    row integer NOT NULL, email text, name text, attributes jsonb, reason text
) ON COMMIT DROP;
CREATE TEMPORARY TABLE import_verdicts (
    row integer PRIMARY KEY, reason text NOT NULL, is_refused boolean NOT NULL
) ON COMMIT DROP;
"""

COPY_IN = "COPY import_rows (row, email, name, attributes, reason) FROM STDIN"


@contextmanager
def staging() -> Iterator[Any]:
    """Make the tables of one import and open a COPY into them."""
    db.execute(STAGE)
    with connection.cursor() as cursor, cursor.copy(COPY_IN) as copy:
        yield copy
    db.execute("ANALYZE import_rows")


# The first row of an address counts.
JUDGE = """
WITH firsts AS MATERIALIZED (
    SELECT email, min(row) AS row FROM import_rows WHERE reason IS NULL GROUP BY email HAVING count(*) > 1
), judged AS (
    INSERT INTO import_verdicts (row, reason, is_refused)
    SELECT row, reason, true FROM import_rows WHERE reason IS NOT NULL
    UNION ALL
    SELECT r.row, 'The address stands in row ' || f.row || ' already.', false
    FROM firsts AS f JOIN import_rows AS r ON r.email = f.email AND r.row > f.row
    UNION ALL
    SELECT r.row, 'kept suppressed: ' || coalesce(s.reason, c.status), false
    FROM import_rows AS r
    LEFT JOIN suppressions AS s ON s.address = r.email AND s.lifted_at IS NULL
    LEFT JOIN contacts AS c ON c.email = r.email AND c.status <> 'active'
    LEFT JOIN firsts AS f ON f.email = r.email
    WHERE (s.reason IS NOT NULL OR c.status IS NOT NULL) AND (f.row IS NULL OR f.row = r.row)
    RETURNING is_refused
)
SELECT count(*) FILTER (WHERE NOT is_refused), count(*) FILTER (WHERE is_refused) FROM judged
"""


class Judged(NamedTuple):
    """How many rows are not taken."""

    skipped: int
    refused: int


def judge() -> Judged:
    """Find the rows that are not taken: refused, repeated, suppressed."""
    judged = db.fetch_one(Judged, JUDGE) or Judged(0, 0)
    db.execute("ANALYZE import_verdicts")
    return judged


# Only rows that are new or differ come to the INSERT: the others need no lock. The condition stands a second time for
# those that another import has made or changed since.
MERGE = """
WITH merged AS (
    INSERT INTO contacts AS c (email, name, attributes)
    SELECT r.email, r.name, r.attributes
    FROM import_rows AS r
    LEFT JOIN contacts AS k ON k.email = r.email
    WHERE NOT EXISTS (SELECT FROM import_verdicts AS v WHERE v.row = r.row)
      AND (k.id IS NULL OR (
        %(update)s AND k.status = 'active' AND
        (coalesce(nullif(r.name, ''), k.name), k.attributes || r.attributes) IS DISTINCT FROM (k.name, k.attributes)
      ))
    ORDER BY r.email COLLATE "C"
    ON CONFLICT (email) DO UPDATE SET
        name = coalesce(nullif(excluded.name, ''), c.name),
        attributes = c.attributes || excluded.attributes,
        updated_at = statement_timestamp()
    WHERE %(update)s AND c.status = 'active' AND
        (coalesce(nullif(excluded.name, ''), c.name), c.attributes || excluded.attributes)
        IS DISTINCT FROM (c.name, c.attributes)
    RETURNING c.xmax = 0 AS is_new
)
SELECT count(*) FILTER (WHERE is_new), count(*) FILTER (WHERE NOT is_new) FROM merged
"""


class Merged(NamedTuple):
    """How many contacts an import made, and changed."""

    created: int
    updated: int


def merge(*, update: bool) -> Merged:
    """Write the rows that are taken; with `update` also to contacts that are there already."""
    return db.fetch_one(Merged, MERGE, {"update": update}) or Merged(0, 0)


ENLIST = """
INSERT INTO contact_list_members (list_id, contact_id)
SELECT %(list)s, c.id
FROM import_rows AS r JOIN contacts AS c ON c.email = r.email
WHERE c.status = 'active' AND NOT EXISTS (SELECT FROM import_verdicts AS v WHERE v.row = r.row)
ORDER BY c.id
ON CONFLICT (list_id, contact_id) DO NOTHING
"""


def enlist(list_id: int) -> int:
    """Put every contact of the file that is taken on a list; return how many were not on it."""
    return db.execute(ENLIST, {"list": list_id})


KEEP_REFUSALS = """
INSERT INTO contact_import_refusals (contact_import_id, row, reason)
SELECT %(contact_import)s, row, reason FROM import_verdicts ORDER BY row LIMIT %(most)s
"""


def keep_refusals(contact_import: int, *, most: int) -> int:
    """Keep the first `most` rows that were not taken, with the reasons."""
    return db.execute(KEEP_REFUSALS, {"contact_import": contact_import, "most": most})


VERDICTS = "COPY (SELECT row, reason, is_refused FROM import_verdicts ORDER BY row) TO STDOUT"


def verdicts() -> Iterator[tuple[int, str, bool]]:
    """Yield every row that was not taken, why, and whether it was refused or skipped; in flat memory."""
    with connection.cursor() as cursor, cursor.copy(VERDICTS) as copy:
        copy.set_types(["int4", "text", "bool"])
        yield from copy.rows()


def clear() -> None:
    """Drop the tables of this import, for one that runs inside somebody else's transaction."""
    db.execute("DROP TABLE import_rows, import_verdicts")


def refresh_statistics() -> None:
    """Tell the planner about many new rows at once, rather than when autovacuum comes round."""
    db.execute("ANALYZE contacts, contact_list_members")
