"""A finished HTML document to pieces: every word found, and written as its place asks."""

from collections.abc import Sequence
from html import unescape

from campaigns.content.body import LINKS
from campaigns.content.errors import ContentError
from campaigns.content.markup import VOID, Attribute, Kind, Part
from campaigns.content.meaning import Meaning
from campaigns.content.pieces import (
    HARMLESS_SCHEME,
    SCHEME,
    Context,
    Flat,
    Misplaced,
    Pieces,
    Slot,
    nest,
    refused,
    split,
)
from campaigns.content.words import Mark, Words

IN_HTML = (Context.HTML, Context.HTML)
IN_LINK = (Context.LINK, Context.PART)
CLOSED_TO_VALUES = frozenset(["style", "script", "textarea", "meta", "link", "base"])


class Document:
    """Reads the parts of a document in order and keeps where each if began."""

    def __init__(self, *, words: Words, meaning: Meaning) -> None:
        self.words = words
        self.meaning = meaning
        self.flat: Flat = []
        self.open: list[int] = [0]
        self.opened = 0
        self.places: dict[int, int] = {}

    def read(self, parts: Sequence[Part]) -> Pieces:
        """Return the whole as pieces; raises ContentError where a tag stands in no place for one."""
        for part in parts:
            self.read_part(part)
        try:
            return nest(self.flat, meaning=self.meaning)
        except Misplaced as misplaced:
            raise misplaced.as_error("body") from misplaced

    def read_part(self, part: Part) -> None:
        if part.kind is Kind.START and part.name not in VOID:
            self.opened += 1
            self.open.append(self.opened)
        elif part.kind is Kind.END and part.name not in VOID and len(self.open) > 1:
            self.open.pop()
        if not self.words.any.search(part.source):
            self.flat.append(part.source)
        elif part.kind is Kind.TEXT:
            self.read_text(part.source)
        elif part.kind is Kind.START:
            self.read_tag(part)
        elif part.kind is Kind.COMMENT and (mark := self.words.marks.fullmatch(part.source[4:-3])):
            self.read_text(mark[0])
        elif part.kind is Kind.END or part.name in CLOSED_TO_VALUES:
            raise self.refused(part.source, f"a tag can't stand inside <{part.name}>.")
        else:
            self.flat.extend(self.whole(part.source, contexts=IN_HTML))

    def read_text(self, text: str) -> None:
        for piece in split(text, words=self.words, meaning=self.meaning, contexts=IN_HTML):
            if isinstance(piece, tuple):
                mark, index = piece
                if mark is Mark.IF:
                    self.places[index] = self.open[-1]
                elif self.places.get(index) != self.open[-1]:
                    raise Misplaced(self.meaning.blocks[index]).as_error("body")
            self.flat.append(piece)

    def read_tag(self, part: Part) -> None:
        """Take a start tag whose words must all stand in values of attributes."""
        position = part.start
        for attribute in part.attributes:
            if not self.words.any.search(attribute.value):
                continue
            self.literal(part, position, attribute.start)
            self.flat.extend(self.value(part, attribute))
            position = attribute.end
        self.literal(part, position, part.start + len(part.source))

    def literal(self, part: Part, start: int, end: int) -> None:
        source = part.source[start - part.start : end - part.start]
        if self.words.any.search(source):
            raise self.refused(
                source, f"a tag can't stand there in <{part.name[:20]}>: put it between quotes."
            )
        self.flat.append(source)

    def value(self, part: Part, attribute: Attribute) -> Pieces:
        name, value = attribute.name, attribute.value
        if part.name in CLOSED_TO_VALUES or name == "style" or name.startswith("on"):
            raise self.refused(value, f"a tag can't stand in {name}= of <{part.name}>.")
        if name not in LINKS:
            return self.whole(value, contexts=IN_HTML)
        pieces = self.whole(value, contexts=IN_LINK)
        first = pieces[0]
        beginning = unescape(first).strip() if isinstance(first, str) else ""
        if SCHEME.match(beginning) and not HARMLESS_SCHEME.match(beginning):
            raise self.refused(value, f"{name}= can't begin with {beginning[:20]}.")
        second = pieces[1] if len(pieces) > 1 else ""
        if not isinstance(first, str) and isinstance(second, str) and SCHEME.match(unescape(second)):
            raise self.refused(value, f"a tag can't be the beginning of the scheme in {name}=.")
        return pieces

    def whole(self, text: str, *, contexts: tuple[Context, Context]) -> Pieces:
        """Return a stretch in which every if that begins also ends."""
        flat = split(text, words=self.words, meaning=self.meaning, contexts=contexts)
        try:
            return nest(flat, meaning=self.meaning)
        except Misplaced as misplaced:
            raise misplaced.as_error("body") from misplaced

    def refused(self, source: str, problem: str) -> ContentError:
        return refused(source, problem, words=self.words, meaning=self.meaning)


def has_link(pieces: Pieces) -> bool:
    """Say whether everybody's copy has the unsubscribe link, not only a branch of an if."""
    return any(
        isinstance(piece, Slot) and piece.variable.is_link and piece.context is not Context.PART
        for piece in pieces
    )
