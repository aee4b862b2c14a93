"""The command, as a process."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

ROOT = Path(__file__).resolve().parents[3]


def command(*arguments: str) -> list[str]:
    """Return the command line."""
    return [sys.executable, "manage.py", "run_simulator", *arguments]


@contextmanager
def running(*arguments: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Run the command until the end of the block; gives its address."""
    process = subprocess.Popen(
        command("--port", "0", *arguments),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            assert line.startswith("Simulated Mailgun on http://127.0.0.1:")
            yield line.split()[3], process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_is_and_stops_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    signals = tmp_path / "accepted"
    with running("--api-key", "k", "--latency", "1-5", "--signal-file", str(signals)) as (url, process):
        data = {
            "from": "a@example.com",
            "to": "b@example.com",
            "text": "x",
            "h:Message-Id": "<m@example.com>",
        }
        path = f"{url}/v3/mg.example.com/messages"
        requests.post(path, data=data, auth=("api", "k"), timeout=10).raise_for_status()
        process.send_signal(number)
        assert process.wait(timeout=10) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""

    assert signals.read_text() == "1 m@example.com 1\n"


def test_faults_come_from_a_file(tmp_path: Path) -> None:
    faults = tmp_path / "faults.json"
    faults.write_text('[{"action": "unauthorized", "times": null}]')
    with running("--faults", str(faults), "--api-key", "k") as (url, _):
        data = {"from": "a@example.com", "to": "b@example.com", "text": "x"}
        path = f"{url}/v3/mg.example.com/messages"

        assert requests.post(path, data=data, auth=("api", "k"), timeout=10).status_code == 401


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--opened", "2"], 2, "a share between 0 and 1"),
        (["--latency", "x"], 2, "milliseconds such as 150"),
        (["--faults", "/nowhere.json"], 1, "Cannot read the faults"),
        (["--host", "192.0.2.1"], 1, "Cannot listen on 192.0.2.1"),
    ],
)
def test_what_it_cannot_do_it_says_in_one_line(arguments: list[str], code: int, words: str) -> None:
    result = subprocess.run(
        command(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )

    assert result.returncode == code
    assert words in result.stderr
    assert "Traceback" not in result.stderr
