"""A finished text as literal stretches, values and conditional parts, and as functions of a person."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from itertools import groupby
from urllib.parse import quote

from campaigns.content.errors import ContentError
from campaigns.content.expressions import Condition
from campaigns.content.meaning import Block, Meaning, Variable
from campaigns.content.people import Getter, Person
from campaigns.content.words import Mark, Words

LONGEST_IN_SUBJECT = 200
SHORT_NAMES = frozenset({"name", "email"})
SCHEME = re.compile(r"[^/?#]*?:")
HARMLESS_SCHEME = re.compile(r"(?:https?|mailto|tel|sms):", re.IGNORECASE)


class Context(StrEnum):
    """Where a value stands, which says how it is written."""

    HTML = "html"  # text or an attribute
    PLAIN = "plain"  # the text part, the preheader's words
    SUBJECT = "subject"
    LINK = "link"  # the beginning of a link in an attribute
    PLAIN_LINK = "plain link"  # the same in the text part
    PART = "part"  # a later part of a link


@dataclass(frozen=True, slots=True)
class Slot:
    """A value in its context."""

    variable: Variable
    context: Context


@dataclass(frozen=True, slots=True)
class Choice:
    """The branches of an if; the first whose condition holds is what stands there."""

    sources: tuple[str, ...]
    conditions: tuple[Condition | None, ...]
    branches: tuple["Pieces", ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and (self.sources, self.branches) == (other.sources, other.branches)

    def __hash__(self) -> int:
        return hash((self.sources, self.branches))


Piece = str | Slot | Choice
Pieces = tuple[Piece, ...]
Flat = list[str | Slot | Choice | tuple[Mark, int]]


class Misplaced(Exception):
    """The parts of an if came to stand in different places."""

    def __init__(self, block: Block) -> None:
        self.block = block
        super().__init__(
            f"{block.tag} begins in one place and ends in another: "
            "put it round whole paragraphs, list items or words, with its parts on lines of their own."
        )

    def as_error(self, field: str) -> ContentError:
        return ContentError(str(self), field=field, line=self.block.line, tag=self.block.tag)


def refused(source: str, problem: str, *, words: Words, meaning: Meaning) -> ContentError:
    """Return the error for the first tag whose word stands in `source`."""
    match = words.any.search(source)
    if match is None:
        return ContentError(problem, field="body")
    index = int(match[2])
    if match[1] == Mark.VARIABLE:
        variable = meaning.variables[index]
        return ContentError(problem, field="body", line=variable.line, tag=f"{{{{ {variable.source} }}}}")
    return ContentError(problem, field="body", line=meaning.blocks[index].line, tag=meaning.blocks[index].tag)


def split(text: str, *, words: Words, meaning: Meaning, contexts: tuple[Context, Context]) -> Flat:
    """Cut `text` at its words; the first context is for a value at the very start, the other for the rest."""
    flat: Flat = []
    position = 0
    for match in words.any.finditer(text):
        if match.start() > position:
            flat.append(text[position : match.start()])
        mark, index = Mark(match[1]), int(match[2])
        if mark is Mark.VARIABLE:
            context = contexts[0] if at_start(flat) else contexts[1]
            flat.append(slot(meaning.variables[index], context))
        else:
            flat.append((mark, index))
        position = match.end()
    if position < len(text):
        flat.append(text[position:])
    return flat


def slot(variable: Variable, context: Context) -> Slot:
    """Return the value in its context, under one name where two contexts write it alike."""
    is_short = variable.names <= SHORT_NAMES
    if (variable.is_link and context is not Context.PART) or (context is Context.SUBJECT and is_short):
        context = Context.PLAIN
    return Slot(variable, context)


def at_start(flat: Flat) -> bool:
    """Say whether nothing but the beginning of ifs stands before, in the branch that is being read."""
    depth = 0
    for piece in reversed(flat):
        if not isinstance(piece, tuple):
            if depth == 0 and not (isinstance(piece, str) and not piece.strip()):
                return False
        elif piece[0] is Mark.ENDIF:
            return False
        elif piece[0] is Mark.ELSE:
            depth = 1
        elif depth:
            depth -= 1
    return True


def nest(flat: Flat, *, meaning: Meaning) -> Pieces:
    """Return `flat` with each if as one piece."""
    stack: list[tuple[int, list[list[Piece]]]] = [(-1, [[]])]
    for piece in flat:
        if not isinstance(piece, tuple):
            stack[-1][1][-1].append(piece)
            continue
        mark, index = piece
        block = meaning.blocks[index]
        if mark is Mark.IF:
            stack.append((index, [[]]))
            continue
        if stack[-1][0] != index:
            raise Misplaced(block)
        if mark is Mark.ELSE:
            stack[-1][1].append([])
            continue
        branches = tuple(joined(branch) for branch in stack.pop()[1])
        if len(branches) != len(block.conditions):
            raise Misplaced(block)
        stack[-1][1][-1].append(Choice(tuple(block.sources), tuple(block.conditions), branches))
    if len(stack) > 1:
        raise Misplaced(meaning.blocks[stack[-1][0]])
    return joined(stack[0][1][0])


def joined(pieces: list[Piece]) -> Pieces:
    """Return the pieces with neighbouring literals as one, and none that is empty."""
    result: list[Piece] = []
    for is_literal, group in groupby(pieces, key=lambda piece: isinstance(piece, str)):
        if not is_literal:
            result.extend(group)
        elif literal := "".join(str(piece) for piece in group):
            result.append(literal)
    return tuple(result)


def getter(piece: Piece) -> Getter:
    """Return what computes a piece for a person."""
    if isinstance(piece, str):
        return lambda person: piece
    if isinstance(piece, Slot):
        return slot_getter(piece)
    branches = [
        (condition, joined_getter(branch))
        for condition, branch in zip(piece.conditions, piece.branches, strict=True)
    ]

    def choose(person: Person) -> str:
        for condition, branch in branches:
            if condition is None or condition(person):
                return branch(person)
        return ""

    return choose


def joined_getter(pieces: Pieces) -> Getter:
    getters = [getter(piece) for piece in pieces]
    if len(getters) == 1:
        return getters[0]
    return lambda person: "".join([get(person) for get in getters])


def slot_getter(slot: Slot) -> Getter:
    value, write = slot.variable.value, WRITERS[slot.context]
    return value if write is str else lambda person: write(value(person))


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST_IN_SUBJECT else text[: LONGEST_IN_SUBJECT - 1].rstrip() + "…"


def link(text: str) -> str:
    """Return a whole link that a value gives, or one that leads nowhere where it would do more than lead somewhere."""
    bare = quote(text, safe="!#$%&'()*+,/:;=?@[]~")
    return "#" if SCHEME.match(bare) and not HARMLESS_SCHEME.match(bare) else bare


def part_of_link(text: str) -> str:
    return quote(text, safe="@")


def link_in_html(text: str) -> str:
    return escape(link(text))


WRITERS: dict[Context, Callable[[str], str]] = {
    Context.HTML: escape,
    Context.PLAIN: str,
    Context.SUBJECT: shortened,
    Context.LINK: link_in_html,
    Context.PLAIN_LINK: link,
    Context.PART: part_of_link,
}
