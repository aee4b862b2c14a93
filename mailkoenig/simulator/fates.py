"""What becomes of each copy: drawn from the seed, the address and the subject, never stored."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from hashlib import blake2b

from mailkoenig.lib.command import UserError

OUTCOMES = ("silent", "bounced", "deferred", "delivered", "opened", "clicked", "unsubscribed", "complained")


class Phase(IntEnum):
    """The kinds of event, in the order they happen to one copy."""

    ACCEPTED = 0
    DEFERRED = 1
    SETTLED = 2  # delivered, or failed for good
    OPENED = 3
    CLICKED = 4
    UNSUBSCRIBED = 5
    COMPLAINED = 6


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares between 0 and 1. Without any, all mail is delivered and nobody opens it."""

    bounced: float = 0.0
    """Of what was accepted; always the same addresses."""
    delivered: float = 1.0
    """Of what did not bounce; nothing is heard of the rest."""
    deferred: float = 0.0
    """Of what was delivered: after a temporary failure."""
    opened: float = 0.0
    """Of what was delivered, as the four below."""
    clicked: float = 0.0
    unsubscribed: float = 0.0
    complained: float = 0.0
    machine: float = 0.0
    """Of what was opened: by a mail program, before any person."""

    def __post_init__(self) -> None:
        for item in fields(self):
            if not 0 <= getattr(self, item.name) <= 1:
                raise UserError(
                    f"The rate {item.name} is a share between 0 and 1, not {getattr(self, item.name)}."
                )


@dataclass(frozen=True, slots=True)
class Fate:
    """What happens to one copy."""

    bounced: bool = False
    delivered: bool = False
    deferred: bool = False
    opened: bool = False
    by_machine: bool = False
    clicked: bool = False
    unsubscribed: bool = False
    complained: bool = False


def dice(*words: object) -> Iterator[float]:
    """Return up to eight numbers in [0, 1) that depend on the words alone."""
    digest = blake2b("\0".join(map(str, words)).encode(), digest_size=32).digest()
    return (int.from_bytes(digest[at : at + 4]) / 2**32 for at in range(0, 32, 4))


def draw(*, seed: int, address: str, subject: str, rates: Rates) -> Fate:
    """Draw one copy's fate: an address bounces always or never, what its reader does depends on the mail."""
    server = dice(seed, address)
    reader = dice(seed, address, subject)
    bounced = next(server) < rates.bounced
    delivered = not bounced and next(server) < rates.delivered
    if not delivered:
        return Fate(bounced=bounced)
    curiosity = next(reader)  # who clicks has opened
    opened = curiosity < rates.opened
    return Fate(
        delivered=True,
        deferred=next(server) < rates.deferred,
        opened=opened,
        by_machine=opened and next(reader) < rates.machine,
        clicked=curiosity < rates.clicked,
        unsubscribed=next(reader) < rates.unsubscribed,
        complained=next(reader) < rates.complained,
    )


def chosen(outcome: str) -> Fate:
    """Return the fate that ends in a named outcome."""
    rank = OUTCOMES.index(outcome)
    return Fate(
        bounced=outcome == "bounced",
        delivered=rank >= OUTCOMES.index("deferred"),
        deferred=outcome == "deferred",
        opened=outcome in ("opened", "clicked"),
        clicked=outcome == "clicked",
        unsubscribed=outcome == "unsubscribed",
        complained=outcome == "complained",
    )


def named_outcomes(outcomes: Mapping[str, str]) -> dict[str, str]:
    """Return outcomes by lower-case address, or raise for one that does not exist."""
    if unknown := sorted(set(outcomes.values()) - set(OUTCOMES)):
        raise UserError(f"There is no outcome {unknown[0]!r}: use one of {', '.join(OUTCOMES)}.")
    return {address.lower(): outcome for address, outcome in outcomes.items()}


def phases(rates: Rates, outcomes: Mapping[str, str]) -> list[Phase]:
    """Return the phases in which something can happen."""
    ends = set(outcomes.values())
    possible = {
        Phase.ACCEPTED: True,
        Phase.DEFERRED: rates.deferred > 0 or "deferred" in ends,
        Phase.SETTLED: True,
        Phase.OPENED: rates.opened > 0 or bool(ends & {"opened", "clicked"}),
        Phase.CLICKED: rates.clicked > 0 or "clicked" in ends,
        Phase.UNSUBSCRIBED: rates.unsubscribed > 0 or "unsubscribed" in ends,
        Phase.COMPLAINED: rates.complained > 0 or "complained" in ends,
    }
    return [phase for phase, can_happen in possible.items() if can_happen]
