"""Several workers want the same people."""

from functools import partial

from mailkoenig.rehearsal.cases.case import Case
from mailkoenig.rehearsal.stage import Stage
from mailkoenig.simulator import Fault


def race(stage: Stage, *, workers: int) -> None:
    """Let so many workers work one campaign, whose calls take longer and shorter."""
    stage.prepare(people=400, batch=20)
    stage.simulator.fault(Fault("latency", times=None, seconds=[0, 0.1]))
    for number in range(workers):
        stage.worker(f"worker-{number + 1}")
    stage.send()
    stage.finish()


CASES = [
    Case("race-2", "Two workers race for one campaign", partial(race, workers=2)),
    Case("race-4", "Four workers race for one campaign", partial(race, workers=4)),
]
