"""A Mailgun on loopback, for development, tests, the demo, drills and benchmarks."""

from mailkoenig.simulator.faults import BadFault, Fault
from mailkoenig.simulator.records import Call, Copy, Message
from mailkoenig.simulator.server import Simulator
from mailkoenig.simulator.tally import Duplicate

__all__ = ["BadFault", "Call", "Copy", "Duplicate", "Fault", "Message", "Simulator"]
