"""Rows from hand-written SQL, as the named tuples that callers declare."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

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


def now() -> datetime:
    """Return the database's time, the only one that leases and schedules go by."""
    moment: datetime = value("SELECT statement_timestamp()")
    return moment
