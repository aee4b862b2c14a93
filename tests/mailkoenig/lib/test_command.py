"""What every command shares."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
ENDLESS = """
import sys
from mailkoenig.lib import command

def lines(argv):
    while True:
        print("another line")

command.execute_from_command_line = lines
command.run(["manage.py"])
"""


def test_a_reader_that_has_seen_enough_ends_a_command_quietly() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        assert command.stdout.readline() == b"another line\n"
        command.stdout.close()
        assert command.wait(20) == 0
        assert command.stderr.read() == b""


LAST_LINES = """
import sys
from mailkoenig.lib import command

def lines(argv):
    print("first line", flush=True)
    sys.stdin.readline()
    print("last line")

command.execute_from_command_line = lines
command.run(["manage.py"])
"""


def test_a_reader_that_left_before_the_last_lines_ends_a_command_quietly() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LAST_LINES],
        cwd=ROOT,
        env=os.environ | {"PYTHONUNBUFFERED": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as command:
        assert command.stdin is not None
        assert command.stdout is not None
        assert command.stderr is not None
        assert command.stdout.readline() == b"first line\n"
        command.stdout.close()
        command.stdin.close()
        assert command.wait(20) == 0
        assert command.stderr.read() == b""


ANOTHER_PIPE = """
from mailkoenig.lib import command

def cut(argv):
    raise BrokenPipeError("the provider hung up")

command.execute_from_command_line = cut
command.run(["manage.py"])
"""


def test_another_connection_that_breaks_is_no_quiet_end() -> None:
    done = subprocess.run([sys.executable, "-c", ANOTHER_PIPE], cwd=ROOT, capture_output=True, check=False)

    assert done.returncode == 1
    assert b"the provider hung up" in done.stderr
