"""The processes of a rehearsal: simulator, web server and workers, each writing to a log of its own."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType

from django.conf import settings

from mailkoenig.lib.command import UserError

# Waits between looks; never set, so that waiting on it is a pause.
PAUSE = threading.Event()


class Cast:
    """Starts processes and ends every one of them, whatever happens. A context manager."""

    def __init__(self, *, logs: Path) -> None:
        self.logs = logs
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.environment: dict[str, str] = dict(os.environ)

    def __enter__(self) -> "Cast":
        self.logs.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def start(self, name: str, command: Sequence[str], **extra: str) -> subprocess.Popen[bytes]:
        """Start a process; what it prints goes to NAME.log."""
        with (self.logs / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - our own commands
                list(command),
                cwd=settings.BASE_DIR,
                env={**self.environment, **extra},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Ctrl-C ends the rehearsal, which then ends these in order.
                start_new_session=True,
            )
        self.running[name] = process
        return process

    def manage(self, name: str, *arguments: str, **extra: str) -> subprocess.Popen[bytes]:
        """Start one of our commands."""
        return self.start(name, [sys.executable, "manage.py", *arguments], **extra)

    def serve(self, name: str, port: int) -> subprocess.Popen[bytes]:
        """Start the web server on a port of this machine."""
        return self.start(
            name,
            [
                sys.executable,
                "-m",
                "gunicorn",
                "mailkoenig.wsgi",
                "--bind",
                f"127.0.0.1:{port}",
                "--workers",
                "2",
                "--threads",
                "4",
                "--worker-tmp-dir",
                str(self.logs),
            ],
        )

    def take_out(self, name: str, *, by: signal.Signals) -> None:
        """End one process before its time; nobody wonders where it is any more."""
        process = self.running.pop(name)
        process.send_signal(by)
        process.wait(30)

    def check(self) -> None:
        """Raise UserError when a process has ended by itself."""
        for name, process in self.running.items():
            if process.poll() is not None:
                raise UserError(
                    f"The {name} ended by itself: {self.last_line(name)} (all of it: {self.logs / name}.log)"
                )

    def last_line(self, name: str) -> str:
        """Return the last thing that a process said."""
        lines = (self.logs / f"{name}.log").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def wait_for(self, holds: Callable[[], object], *, what: str, within: float) -> None:
        """Wait until something holds; raise UserError after `within` seconds or when a process dies."""
        deadline = time.monotonic() + within
        while not holds():
            self.check()
            if time.monotonic() > deadline:
                raise UserError(f"Waited {within:g} seconds for {what}; look into {self.logs}.")
            PAUSE.wait(0.05)

    def wait_for_port(self, port: int, *, what: str) -> None:
        """Wait until something listens."""
        self.wait_for(lambda: is_listening(port), what=what, within=60)

    def end(self) -> None:
        """Tell every process to stop, last started first, and make sure that it did."""
        for process in reversed(self.running.values()):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.send_signal(signal.SIGCONT)  # it may be frozen
        for process in self.running.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running.clear()


def is_listening(port: int) -> bool:
    """Say whether somebody answers on a port of this machine."""
    with closing(socket.socket()) as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port(wished: int = 0) -> int:
    """Return `wished` where nobody has it, else a port that the system picks."""
    for port in (wished, 0):
        with closing(socket.socket()) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found: int = probe.getsockname()[1]
            return found
    raise UserError("There is no free port on 127.0.0.1.")


def keys() -> Mapping[str, str]:
    """Return keys for a simulated provider, new each time."""
    return {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "MAILGUN_API_KEY": f"key-{secrets.token_hex(8)}",
        "MAILGUN_SENDING_KEY": f"sending-{secrets.token_hex(8)}",
        "MAILGUN_WEBHOOK_SIGNING_KEYS": secrets.token_hex(16),
    }
