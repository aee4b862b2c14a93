"""What a drill does to databases and connections. Not the product's tables."""

from django.db import connection

from mailkoenig.lib import db

CUT = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = %(name)s
"""


def cut_connections(name: str) -> int:
    """End the connections to this database of the programs that call themselves so; return how many there were."""
    return int(db.value(CUT, {"name": name}) or 0)


HOLD = """
LOCK TABLE suppressions IN ACCESS EXCLUSIVE MODE
"""


def hold_suppressions() -> None:
    """Let nobody read who may not be mailed until this transaction ends."""
    db.execute(HOLD)


def create_database(name: str, *, template: str = "") -> None:
    """Create a database, as a copy of another where one is named; nobody may be connected to that."""
    copied = f" TEMPLATE {quoted(template)}" if template else ""
    db.execute(f"CREATE DATABASE {quoted(name)}{copied}")


def drop_database(name: str) -> None:
    """Drop a database, whoever is connected to it."""
    db.execute(f"DROP DATABASE IF EXISTS {quoted(name)} WITH (FORCE)")


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return connection.ops.quote_name(name)
