"""Mail to one person under a key: raced for, killed for, and sent beside a campaign that is told to wait."""

import os
import signal

from mailkoenig.rehearsal.cases.case import Case
from mailkoenig.rehearsal.stage import DOMAIN, Broken, Stage
from mailkoenig.simulator import Fault


def raced(stage: Stage) -> None:
    """Let two workers of one name go for the same receipts."""
    stage.prepare_receipts(people=60)
    stage.simulator.fault(Fault("latency", times=None, seconds=[0, 0.1]))
    stage.worker("first")
    stage.worker("second")
    stage.finish()


def killed(stage: Stage) -> None:
    """Kill the worker when the provider has taken a receipt and before it has said so."""
    stage.prepare_receipts(people=10)
    pids: list[int] = []
    number = 1 + stage.dice.randrange(5)
    with stage.at_acceptance(lambda: os.kill(pids[0], signal.SIGKILL), number=number) as accepted:
        pids.append(stage.worker("killed"))
        stage.until(accepted.is_set, what="an acceptance")
        stage.end("killed")
    stage.worker("next")
    stage.finish()


def beside(stage: Stage) -> None:
    """Send receipts while the provider makes a campaign's domain wait again and again."""
    stage.prepare(people=200, batch=20, extra_calls=40)
    limit = Fault(
        "rate_limit", status=429, hint="retry-after", seconds=1, times=5, after=2, only={"domain": DOMAIN}
    )
    stage.simulator.fault(limit)
    stage.worker("worker")
    stage.send()
    stage.until(lambda: limit.played, what="the provider to make the campaign wait")
    stage.prepare_receipts(people=20)
    stage.until(stage.receipts_are_out, what="the receipts to be accepted", within=10)
    if stage.is_over():
        raise Broken("The campaign was over before the receipts: the case proves nothing.")
    stage.finish()


CASES = [
    Case("receipts-race", "Two workers race for the same receipts", raced),
    Case("receipt-killed", "The worker is killed after a receipt's acceptance", killed),
    Case("receipts-beside", "Receipts beside a campaign that is told to wait", beside),
]
