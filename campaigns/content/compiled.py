"""A compiled mail: fixed text, and a value per person for everything that is not fixed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from campaigns.content.people import Getter, Person, Rendered
from mailkoenig.providers.types import Dialect

Plan = tuple[tuple[Getter, tuple[tuple[str, Callable[[str], str]], ...]], ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A mail with the provider's placeholders in place of everything that differs from person to person."""

    subject: str
    html: str
    text: str
    keys: tuple[str, ...]
    """Every variable that occurs in it."""
    attributes: frozenset[str]
    """The contact's attributes that it reads; with none nobody need fetch them."""
    without_default: tuple[str, ...]
    """Names that it prints with nothing to say where a person lacks them."""
    warnings: tuple[str, ...]
    plan: Plan = field(repr=False, compare=False)
    """What is computed once, and the keys under which it is written in one way or another."""
    parts: tuple[tuple[str, ...], ...] = field(repr=False, compare=False)
    """Of subject, HTML and text: literals, and between each two the key of what stands there."""

    @property
    def size(self) -> int:
        """Return its octets, without values."""
        return sum(len(part.encode()) for part in (self.subject, self.html, self.text))

    def values(self, person: Person) -> dict[str, str]:
        """Return one value per key, written as its place asks."""
        values: dict[str, str] = {}
        for get, outputs in self.plan:
            value = get(person)
            for key, write in outputs:
                values[key] = write(value)
        return values

    def render(self, person: Person) -> Rendered:
        """Return the mail as `person` reads it, for a preview and for one who must be sent to alone."""
        values = self.values(person)
        return Rendered(*(substitute(part, values) for part in self.parts))


def substitute(part: Sequence[str], values: Mapping[str, str]) -> str:
    return "".join([values[piece] if index % 2 else piece for index, piece in enumerate(part)])


def is_mistaken(values: Mapping[str, str], *, dialect: Dialect) -> bool:
    """Say whether the provider might itself replace something in a value; such a person is sent to alone.

    A sign before the value, in the fixed text, counts as part of it.
    """
    return dialect.mistaken.search("%" + "%".join(values.values())) is not None
