"""Real processes of the site on the test database: the worker, the web server, any command."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from urllib.parse import urlencode

from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent


def environment(**extra: str) -> Mapping[str, str]:
    """Return the environment of a process that works on the test database and the provider of the settings."""
    parameters = connection.get_connection_params()
    server = {key: parameters[key] for key in ("host", "port", "user", "password") if parameters.get(key)}
    url = f"postgres:///{parameters['dbname']}?{urlencode(server)}"
    return {
        **os.environ,
        "DATABASE_URL": url,
        "MAILGUN_API_URL": settings.MAILGUN_API_URL,
        "LOG_LEVEL": "INFO",
        "SENDER_POLL": "0.1",
        # Only tests about it read the log: it would clear up what others want to see unclear.
        "EVENTS_POLL_EVERY": "0",
        "PYTHONWARNINGS": "error",
        "PYTHONUNBUFFERED": "1",
        **extra,
    }


def manage(*arguments: str, timeout: float = 60, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(**extra),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@contextmanager
def worker(*arguments: str, **extra: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a worker; whatever is left of it is killed in the end. What it said is printed where the test fails."""
    with TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "run_sender", *arguments],
            cwd=ROOT,
            env=environment(**extra),
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        try:
            yield process
        except BaseException:
            said.seek(0)
            print(said.read()[-5000:].decode(errors="replace"))  # noqa: T201 - for the report of the failure
            raise
        finally:
            process.kill()
            process.wait()


@contextmanager
def web(**extra: str) -> Iterator[str]:
    """Start the web server as it is deployed; yields its address."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "gunicorn",
            "mailkoenig.wsgi",
            "--bind",
            f"127.0.0.1:{port}",
            "--threads",
            "4",
        ],
        cwd=ROOT,
        # Gunicorn leaves its socket to the end of the process, of which Python warns.
        env=environment(**{"PYTHONWARNINGS": "default", **extra}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: listens(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def listens(port: int) -> bool:
    """Say whether somebody takes connections there."""
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def eventually(holds: Callable[[], object], *, within: float = 20) -> None:
    """Wait until something holds; fail after `within` seconds."""
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, "it did not become true in time"
        time.sleep(0.02)  # noqa: TID251 - a test has nothing better to wait on
