"""A worker's clock jumps in the middle of a campaign."""

from functools import partial
from pathlib import Path

from mailkoenig.rehearsal.cases.case import Case
from mailkoenig.rehearsal.stage import Stage
from mailkoenig.simulator import Fault

# Python imports a module of this name by itself when it starts. What counts durations stays as it is: setting a clock does
# not move it. Libraries written in C go on seeing the real time.
SITECUSTOMIZE = '''
"""Sets this process's clock by JUMP seconds from the moment that the file NOW appears beside this one."""

import datetime
import pathlib
import sys
import threading
import time

real_time, signal = time.time, pathlib.Path(__file__).with_name("NOW")


def jump():
    return JUMP if signal.exists() else 0


class Jumped(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.now(tz) + datetime.timedelta(seconds=jump())


def change_ours():
    while True:
        for name, module in list(sys.modules.items()):
            if name.startswith(("campaigns.", "events.", "mailkoenig.")):
                if vars(module).get("datetime") is datetime.datetime:
                    module.datetime = Jumped
        threading.Event().wait(0.05)


time.time = lambda: real_time() + jump()
threading.Thread(target=change_ours, daemon=True).start()
'''
DAY = 86_400


def jumped(stage: Stage, *, jump: int) -> None:
    """Set the clock at an acceptance; then have the provider name a time to wait for, and lose an answer."""
    stage.prepare(people=100, batch=10)
    stage.simulator.fault(Fault("rate_limit", status=420, hint="date-text", seconds=2.5, after=4))
    stage.simulator.fault(Fault("drop", accept=True, after=5))
    folder = clock(stage.logs / "clock", jump=jump)
    stage.worker("worker", PYTHONPATH=str(folder), EVENTS_POLL_EVERY="1", SENDER_CONCURRENCY="1")
    with stage.at_acceptance((folder / "NOW").touch, number=2):
        stage.send()
        stage.finish()


def clock(folder: Path, *, jump: int) -> Path:
    """Make a folder from which a Python process takes its clock."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE.replace("JUMP", str(jump)))
    return folder


CASES = [
    Case("clock-back", "The clock jumps a day back", partial(jumped, jump=-DAY)),
    Case("clock-ahead", "The clock jumps a day ahead", partial(jumped, jump=DAY)),
]
