"""A Mailgun on loopback, for development, tests, the demo, drills and benchmarks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mailkoenig.simulator.fates import Rates
    from mailkoenig.simulator.faults import BadFault, Fault
    from mailkoenig.simulator.records import Call, Copy, Message
    from mailkoenig.simulator.server import Simulator
    from mailkoenig.simulator.tally import Duplicate
    from mailkoenig.simulator.webhooks import Habits

__all__ = ["BadFault", "Call", "Copy", "Duplicate", "Fault", "Habits", "Message", "Rates", "Simulator"]

HOMES = {
    "BadFault": "faults",
    "Fault": "faults",
    "Call": "records",
    "Copy": "records",
    "Message": "records",
    "Simulator": "server",
    "Duplicate": "tally",
    "Habits": "webhooks",
    "Rates": "fates",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: every process loads this package as an app, few run a simulator."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
