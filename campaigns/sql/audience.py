"""How many people a campaign would go to, counted while a person waits for the page."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

from mailkoenig.lib import db

# The same rule as campaigns.sql.snapshot.TAKE. A semi-join counts each person once, and runs in parallel.
COUNT = """
SELECT CASE WHEN c.status <> 'active' THEN c.status ELSE coalesce(s.reason, '') END AS left_out, count(*)
FROM contacts AS c
LEFT JOIN suppressions AS s ON s.address = c.email AND s.lifted_at IS NULL
WHERE EXISTS (SELECT FROM contact_list_members AS m WHERE m.contact_id = c.id AND m.list_id = ANY(%(lists)s))
GROUP BY left_out
ORDER BY count(*) DESC
"""

LIMIT = """
SELECT set_config('statement_timeout', %(milliseconds)s, true)
"""


class Share(NamedTuple):
    """People of an audience who are left out for the same reason; the empty reason is for those who get it."""

    left_out: str
    people: int


def count(*, lists: Sequence[int], milliseconds: int) -> list[Share] | None:
    """Return who is on the lists, each person once, by why they are left out; None when that takes too long."""
    try:
        with transaction.atomic():
            before = db.value("SHOW statement_timeout")
            db.value(LIMIT, {"milliseconds": str(milliseconds)})
            found = db.fetch(Share, COUNT, {"lists": list(lists)})
            if connection.in_atomic_block:
                db.value(LIMIT, {"milliseconds": before})
            return found
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            return None
        raise
