"""What every command shares."""

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
