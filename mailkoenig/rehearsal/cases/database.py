"""The database goes away."""

from functools import partial

from mailkoenig.rehearsal.cases.case import Case
from mailkoenig.rehearsal.processes import PAUSE
from mailkoenig.rehearsal.stage import Broken, Stage
from mailkoenig.simulator import Fault


def cut(stage: Stage) -> None:
    """End the workers' connections again and again."""
    stage.prepare(people=200, batch=10)
    stage.simulator.fault(Fault("latency", times=None, seconds=[0.05, 0.2]))
    for name in ("worker-1", "worker-2"):
        stage.worker(name)
    for name in ("worker-1", "worker-2"):
        # One that finds no database while it starts ends with a clear line, and systemd starts it again.
        stage.until(partial(stage.has_begun, name), what=f"{name} to begin")
    stage.send()
    stage.until(partial(has_accepted, stage, 1), what="an acceptance")
    total = 0
    for _ in range(10):
        total += stage.cut_connections()
        PAUSE.wait(0.15 + 0.2 * stage.dice.random())
    stage.finish()
    if not total:
        raise Broken("No connection was cut: the case proves nothing.")


def restarted(stage: Stage) -> None:
    """Restart PostgreSQL while a call is open: once in order, once as if it had crashed."""
    stage.prepare(people=200, batch=10)
    stage.simulator.fault(Fault("latency", times=None, seconds=[0.1, 0.3]))
    stage.worker("worker")
    stage.send()
    for mode in ("fast", "immediate"):
        enough = len(stage.simulator.messages) + 3
        stage.until(partial(has_accepted, stage, enough), what="some acceptances")
        stage.restart_database(mode)
    stage.finish()


def has_accepted(stage: Stage, messages: int) -> bool:
    """Say whether the provider took so many messages."""
    return len(stage.simulator.messages) >= messages


CASES = [
    Case("connections-cut", "The database connections are cut again and again", cut),
    Case(
        "database-restarted",
        "PostgreSQL is restarted in the middle of a batch",
        restarted,
        has_own_server=True,
    ),
]
