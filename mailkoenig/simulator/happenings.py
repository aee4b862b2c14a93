"""The events of a message, made when somebody reads them: nothing is stored a recipient."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mailkoenig.simulator.fates import Fate, Phase, Rates, chosen, dice, draw, phases
from mailkoenig.simulator.payloads import Event, event
from mailkoenig.simulator.records import Content, Message
from mailkoenig.simulator.store import Store

OFF = ("no", "false")


@dataclass(slots=True)
class Happening:
    """One event, and whose."""

    phase: Phase
    index: int
    event: Event

    @property
    def hook(self) -> str:
        """The type under which a webhook registers for it."""
        name: str = self.event["event"]
        if name == "failed":
            return "permanent_fail" if self.event["severity"] == "permanent" else "temporary_fail"
        return name


@dataclass
class Happenings:
    """What happens to accepted messages: phase after phase, `pace` seconds apart."""

    store: Store
    rates: Rates = field(default_factory=Rates)
    outcomes: Mapping[str, str] = field(default_factory=dict)
    """Address to its one outcome, whatever the rates say."""
    seed: int = 0
    pace: float = 0.05

    @property
    def phases(self) -> list[Phase]:
        """The phases in which something can happen."""
        return phases(self.rates, self.outcomes)

    @property
    def span(self) -> float:
        """The seconds from acceptance to the last event."""
        return self.pace * Phase.COMPLAINED + 0.001

    def begins(self, message: Message, phase: Phase) -> float:
        """Return the moment of a phase's first event."""
        return message.accepted_at + (self.pace * (phase - 1) + 0.0001 * phase if phase else 0.0)

    def due(self, message: Message, phase: Phase) -> float:
        """Return the moment from which all of a phase's events are in the past."""
        return message.accepted_at + (self.pace * phase + 0.0001 * phase if phase else 0.0)

    def moment(self, message: Message, phase: Phase, index: int) -> float:
        """Return when an event happened; later for later recipients."""
        spread = 0.9 * self.pace if phase else 0.0
        return self.begins(message, phase) + spread * index / message.recipients

    def block(self, message: Message, phase: Phase, *, start: int = 0) -> Iterator[Happening]:
        """Go through one phase's events in the order they happened."""
        content = self.store.content(message)
        for index in range(start, message.recipients):
            if happening := self.at(message, content, phase, index):
                yield happening

    def one(self, message: Message, phase: Phase, index: int) -> Happening | None:
        """Return one recipient's event of a phase, if there is one."""
        return self.at(message, self.store.content(message), phase, index)

    def at(self, message: Message, content: Content, phase: Phase, index: int) -> Happening | None:
        """Make one recipient's event of a phase, if there is one."""
        name = self.name(message, content, phase, content.addresses[index])
        if not name:
            return None
        moment = self.moment(message, phase, index)
        return Happening(phase, index, event(name, message, content, index, moment))

    def name(self, message: Message, content: Content, phase: Phase, address: str) -> str:
        """Return the name of the event that happens to a recipient in a phase; empty where none does."""
        if phase is Phase.ACCEPTED:
            return "accepted"
        if message.suppressed and address in message.suppressed:
            return message.suppressed[address] if phase is Phase.SETTLED else ""
        fate = self.fate(content, address)
        tracks = content.last("o:tracking").lower() not in OFF
        match phase:
            case Phase.DEFERRED:
                return "temporary" if fate.deferred else ""
            case Phase.SETTLED:
                return "failed" if fate.bounced else "delivered" if fate.delivered else ""
            case Phase.OPENED if (
                fate.opened and tracks and content.last("o:tracking-opens").lower() not in OFF
            ):
                return "machine" if fate.by_machine else "opened"
            case Phase.CLICKED if (
                fate.clicked and tracks and content.last("o:tracking-clicks").lower() not in OFF
            ):
                return "clicked"
            case Phase.UNSUBSCRIBED:
                return "unsubscribed" if fate.unsubscribed else ""
            case Phase.COMPLAINED:
                return "complained" if fate.complained else ""
        return ""

    def fate(self, content: Content, address: str) -> Fate:
        """Return what becomes of one copy."""
        lower = address.lower()
        if lower in self.outcomes:
            return chosen(self.outcomes[lower])
        return draw(seed=self.seed, address=lower, subject=content.last("subject"), rates=self.rates)

    def lateness(self, happening: Happening) -> float:
        """Return a number in [0, 1) that is an event's own."""
        return next(dice(self.seed, happening.event["id"]))
