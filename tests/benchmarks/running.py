"""The processes that are measured, and what the system says about them."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.processes import ROOT, environment, eventually


@contextmanager
def simulator(*, latency: int = 0) -> Iterator[str]:
    """Run the simulated Mailgun as a process, without bodies and webhooks; give its address."""
    command = [sys.executable, "manage.py", "run_simulator", "--port", "0", "--no-render"]
    process = subprocess.Popen(
        [*command, "--latency", str(latency)],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
    finally:
        stop(process)


@contextmanager
def gunicorn(application: str, *options: str) -> Iterator[int]:
    """Serve a WSGI application; give the port once it answers."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", *options, application]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment(LOG_LEVEL="ERROR", PYTHONWARNINGS="default"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: answers(port), within=60)
        yield port
    finally:
        stop(process)


def stop(process: "subprocess.Popen[str] | subprocess.Popen[bytes]") -> None:
    """End a process politely, and surely."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(40)
    process.kill()
    process.wait()


def free_port() -> int:
    """Return a port of loopback that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    """Say whether somebody listens."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def peak_memory(process: int) -> float:
    """Return the most MiB that a process had resident; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0.0
    sizes = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return round(max(sizes, default=0) / 1024, 1)


def cpu_seconds(process: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory_of(arguments: Sequence[str]) -> float:
    """Run a command of manage.py to its end and return the most MiB that it had resident."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", *arguments], cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL
    )
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, peak_memory(process.pid))
        time.sleep(0.02)  # noqa: TID251 - nothing tells when a process grows
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed: exit {process.returncode}.")
    return peak
