"""The provider answers badly, late or not at all."""

from functools import partial

from mailkoenig.rehearsal.cases.case import Case
from mailkoenig.rehearsal.stage import Broken, Stage
from mailkoenig.simulator import Fault


def throttled(stage: Stage, *, fault: Fault) -> None:
    """Meet a limit twice; until the stated time nothing else may be asked."""
    stage.prepare(people=100, batch=20)
    fault.after = stage.dice.randrange(3)
    stage.simulator.fault(fault)
    stage.worker("worker")
    stage.send()
    stage.finish()
    refused = [call for call in stage.simulator.calls if call.fault]
    for call in refused:
        early = [
            other
            for other in stage.simulator.calls
            if call.number < other.number and not other.fault and other.at < call.at + 1
        ]
        # A call that was open already is no disrespect; more than one lane has none.
        if len(early) > 1:
            raise Broken(f"{len(early)} calls were made before the time that the provider had stated.")
    if not refused:
        raise Broken("The limit was never met: the case proves nothing.")


def unanswered(stage: Stage, *, action: str, status: int | None = None) -> None:
    """Lose the answers of two calls: one that was accepted and one that was not."""
    stage.prepare(people=160, batch=20)
    first = stage.dice.randrange(4)
    stage.simulator.fault(Fault(action, accept=True, status=status, after=first))
    stage.simulator.fault(Fault(action, accept=False, status=status, after=stage.dice.randrange(2)))
    stage.worker("worker")
    stage.send()
    stage.finish()
    if sum(call.fault == action for call in stage.simulator.calls) != 2:
        raise Broken("The answers were not lost: the case proves nothing.")


CASES = [
    Case(
        "throttled-429",
        "429 with Retry-After",
        lambda stage: throttled(
            stage, fault=Fault("rate_limit", status=429, hint="retry-after", seconds=1.5, times=2)
        ),
    ),
    Case(
        "throttled-420",
        "420 with a date in the text",
        lambda stage: throttled(
            stage, fault=Fault("rate_limit", status=420, hint="date-text", seconds=2.5, times=2)
        ),
    ),
    Case("dropped", "The connection breaks after the request", partial(unanswered, action="drop")),
    Case("bad-gateway", "502 after acceptance", partial(unanswered, action="error", status=502)),
    Case("read-timeout", "Silence after acceptance", partial(unanswered, action="hang")),
]
