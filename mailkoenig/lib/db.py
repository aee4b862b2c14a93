"""Rows from hand-written SQL, as the named tuples that callers declare."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar
from weakref import WeakSet

import psycopg
from django.conf import settings
from django.db import connection

Row = TypeVar("Row", bound=tuple[Any, ...])


def fetch(row: type[Row], sql: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
    """Run `sql` on this thread's connection and return each result row as a `row`."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return [row(*values) for values in cursor.fetchall()]


def fetch_one(row: type[Row], sql: str, parameters: Mapping[str, Any] | None = None) -> Row | None:
    """Return the first result row as a `row`, or None when there is none."""
    rows = fetch(row, sql, parameters)
    return rows[0] if rows else None


def value(sql: str, parameters: Mapping[str, Any] | None = None) -> Any:
    """Return the first column of the first result row, or None when there is none."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        first = cursor.fetchone()
    return first[0] if first else None


def execute(sql: str, parameters: Mapping[str, Any] | None = None) -> int:
    """Run `sql` and return how many rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return int(cursor.rowcount)


def array(numbers: Iterable[int]) -> str:
    """Return whole numbers as PostgreSQL writes an array; the driver takes ten times as long for a list of a thousand."""
    return "{" + ",".join(map(str, numbers)) + "}"


def now() -> datetime:
    """Return the database's time, the only one that leases and schedules go by."""
    moment: datetime = value("SELECT statement_timestamp()")
    return moment


END_IF_IDLE = """
SELECT set_config('idle_in_transaction_session_timeout', %(milliseconds)s, true)
"""


def end_if_idle() -> None:
    """Have the server end this transaction when nothing is heard of us in it: a frozen process must not keep its locks."""
    value(END_IF_IDLE, {"milliseconds": patience()})


def patience() -> str:
    """Return for how many milliseconds a transaction may be idle: more than a call lasts."""
    return str(int(2000 * settings.MAILGUN_CALL_TIMEOUT + 1000))


def fetch_planned(row: type[Row], sql: str, parameters: Mapping[str, Any] | None = None) -> Row | None:
    """Return the first row of a statement that the server plans once for each connection, not every time.

    For the few statements where planning costs more than the work. Behind a pooler it is planned every time after all.
    """
    connection.ensure_connection()
    raw = connection.connection
    if raw not in CHECKED:
        raw.prepare_threshold = 0 if is_direct(raw) else None
        CHECKED.add(raw)
    with connection.wrap_database_errors, psycopg.Cursor[Any](raw) as cursor:
        cursor.execute(sql.encode(), parameters)
        values = cursor.fetchone()
    return row(*values) if values else None


CHECKED: WeakSet[psycopg.Connection[Any]] = WeakSet()


def is_direct(raw: psycopg.Connection[Any]) -> bool:
    """Say whether no pooler stands between us and the server: one would hand a prepared statement to somebody else."""
    # A pooler tells its clients a process number of its own making.
    answer = psycopg.ClientCursor[Any](raw).execute("SELECT pg_backend_pid()").fetchone()
    return answer is not None and answer[0] == raw.info.backend_pid
