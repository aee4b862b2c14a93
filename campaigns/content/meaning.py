"""What the words of a mail stand for."""

from dataclasses import dataclass, field

from campaigns.content.expressions import Condition
from campaigns.content.people import Getter


@dataclass(frozen=True, slots=True)
class Variable:
    """A value per person. Two that say the same are equal."""

    source: str
    line: int = field(compare=False)
    value: Getter = field(compare=False, repr=False)
    is_link: bool = field(compare=False, default=False)
    """It is the unsubscribe link, which stands everywhere as it is."""
    names: frozenset[str] = field(compare=False, default=frozenset())


@dataclass(slots=True)
class Block:
    """The conditions of one if, in order; the last may be missing, then it is the else."""

    tag: str
    line: int
    sources: list[str]
    conditions: list[Condition | None]
    names: set[str]


@dataclass(slots=True)
class Meaning:
    """What the words of a mail stand for, over all its fields."""

    variables: list[Variable] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    without_default: set[str] = field(default_factory=set)
