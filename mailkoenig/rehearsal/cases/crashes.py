"""A worker dies, freezes or forgets between the provider's acceptance and its own commit."""

import os
import signal
import threading

from campaigns.models import SendBatch
from mailkoenig.rehearsal.cases.case import Case
from mailkoenig.rehearsal.processes import PAUSE
from mailkoenig.rehearsal.stage import Broken, Stage

LATE = 2.0
# Python imports a module of this name by itself when it starts: the process stops itself where a call begins.
SITECUSTOMIZE = """
import os
import signal
import sys
import threading


def stop_at_the_first_call():
    while not hasattr(sys.modules.get("mailkoenig.providers.mailgun.client"), "fields"):
        threading.Event().wait(0.05)
    client = sys.modules["mailkoenig.providers.mailgun.client"]
    fields = client.fields

    def stop(call):
        client.fields = fields
        os.kill(os.getpid(), signal.SIGSTOP)
        return fields(call)

    client.fields = stop


threading.Thread(target=stop_at_the_first_call, daemon=True).start()
"""


def killed(stage: Stage) -> None:
    """Kill the worker after an acceptance and before its commit; another goes on."""
    stage.prepare()
    first = stage.worker("killed")
    with stage.at_acceptance(lambda: os.kill(first, signal.SIGKILL), number=number(stage)) as accepted:
        stage.send()
        stage.until(accepted.is_set, what="an acceptance")
        stage.end("killed")
    stage.worker("next")
    stage.finish()


def commit_lost(stage: Stage) -> None:
    """End the worker's database connections at an acceptance, so that its commit fails."""
    stage.prepare()
    stage.worker("worker")
    cut: list[int] = []
    with stage.at_acceptance(lambda: cut.append(stage.cut_connections()), number=number(stage)) as accepted:
        stage.send()
        stage.until(accepted.is_set, what="an acceptance")
    stage.finish()
    if not sum(cut):
        raise Broken("No connection was cut: the case proves nothing.")


def frozen(stage: Stage) -> None:
    """Freeze a worker at an acceptance for longer than its lease; another finishes, and the first one wakes up late."""
    stage.prepare(people=120, batch=20)
    first = stage.worker("frozen", SENDER_CONCURRENCY="1")
    with stage.at_acceptance(lambda: os.kill(first, signal.SIGSTOP)) as accepted:
        stage.send()
        stage.until(accepted.is_set, what="an acceptance")
    stage.worker("awake")
    stage.finish()
    wake(stage, first)


def frozen_before_call(stage: Stage) -> None:
    """Freeze a worker that holds a batch and has not called; another sends it, and the first one wakes up late."""
    stage.prepare(people=120, batch=20)
    first = stage.worker("frozen", SENDER_CONCURRENCY="1")
    is_blocked = threading.Event()
    with stage.at_acceptance(lambda: is_blocked.wait(30)) as accepted:
        stage.send()
        stage.until(accepted.is_set, what="an acceptance")
        with stage.blocked_before_calls():
            is_blocked.set()
            stage.until(is_leased, what="a lease")
            os.kill(first, signal.SIGSTOP)
    stage.worker("awake")
    stage.finish()
    wake(stage, first)


def frozen_at_call(stage: Stage) -> None:
    """Freeze a worker after it has noted that the call begins and before it does; another sends it, the first wakes up."""
    stage.prepare(people=120, batch=20)
    folder = stage.logs / "freezer"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
    first = stage.worker("frozen", SENDER_CONCURRENCY="1", PYTHONPATH=str(folder))
    stage.send()
    stage.until(is_in_flight, what="a call to begin")
    stage.worker("awake")
    stage.finish()
    wake(stage, first)


def is_in_flight() -> bool:
    """Say whether a call may have begun."""
    return SendBatch.objects.filter(state=SendBatch.State.IN_FLIGHT).exists()


def wake(stage: Stage, process: int) -> None:
    """Let a frozen worker go on, and give it time to do harm."""
    before = len(stage.simulator.calls)
    os.kill(process, signal.SIGCONT)
    PAUSE.wait(LATE)
    if late := len(stage.simulator.calls) - before:
        raise Broken(f"The worker that woke up made {late} calls.")


def is_leased() -> bool:
    """Say whether a worker holds a batch that it has not called for."""
    return SendBatch.objects.filter(state=SendBatch.State.LEASED).exists()


def number(stage: Stage) -> int:
    """Return at which acceptance it happens."""
    return 2 + stage.dice.randrange(4)


CASES = [
    Case("killed", "A worker is killed after acceptance and before its commit", killed),
    Case("commit-lost", "The commit is lost after acceptance", commit_lost),
    Case("frozen", "A worker freezes after acceptance for longer than its lease, and wakes up", frozen),
    Case(
        "frozen-before",
        "A worker freezes before the call for longer than its lease, and wakes up",
        frozen_before_call,
    ),
    Case(
        "frozen-at-call", "A worker freezes where the call begins, is given up, and wakes up", frozen_at_call
    ),
]
