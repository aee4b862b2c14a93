"""HTML as a run of parts: what is text, what is a tag. Linear in time on any text."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

TAG_START = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
ATTRIBUTE = re.compile(
    r"[\s/]*+(?:([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?|=)?"
)
VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
RAW = frozenset(["script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes"])


class Kind(StrEnum):
    """What a part of HTML is."""

    TEXT = "text"
    START = "start"
    END = "end"
    COMMENT = "comment"  # a doctype and the like too
    RAW = "raw"  # the inside of style, script, title and the like


class Attribute(NamedTuple):
    """One attribute and where its value stands in the whole text."""

    name: str
    value: str
    start: int
    end: int


class Part(NamedTuple):
    """A stretch of HTML; the parts in a row are the whole."""

    kind: Kind
    source: str
    start: int
    name: str = ""
    """Of the element, in lower case."""
    attributes: tuple[Attribute, ...] = ()

    def get(self, name: str) -> str:
        return next((attribute.value for attribute in self.attributes if attribute.name == name), "")


def scan(text: str) -> Iterator[Part]:
    """Yield the parts of `text`, whatever it is."""
    position = start = 0
    while (opening := text.find("<", position)) >= 0:
        part = read_markup(text, opening)
        if part is None:
            position = opening + 1
            continue
        if start < opening:
            yield Part(Kind.TEXT, text[start:opening], start)
        yield part
        position = start = opening + len(part.source)
        if part.kind is Kind.START and part.name in RAW:
            end = closing(text, part.name, start)
            if end > start:
                yield Part(Kind.RAW, text[start:end], start, part.name)
            position = start = end
    if start < len(text):
        yield Part(Kind.TEXT, text[start:], start)


def closing(text: str, name: str, start: int) -> int:
    """Return where the raw text of an element ends."""
    match = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE | re.ASCII).search(text, start)
    return match.start() if match else len(text)


def read_markup(text: str, start: int) -> Part | None:
    """Return the tag or comment that begins at `start`, or None where the sign is text."""
    if text.startswith("<!--", start):
        end = start + 5 if text.startswith("<!-->", start) else after(text, "-->", start + 4)
        return Part(Kind.COMMENT, text[start:end], start)
    if text.startswith(("<!", "<?", "</"), start) and not TAG_START.match(text, start):
        return Part(Kind.COMMENT, text[start : after(text, ">", start + 2)], start)
    match = TAG_START.match(text, start)
    if not match:
        return None
    attributes: list[Attribute] = []
    position = match.end()
    while position < len(text) and text[position] != ">":
        found = ATTRIBUTE.match(text, position)
        if not found or found.end() == position:
            position += 1
            continue
        if found[1]:
            group = next((group for group in (2, 3, 4) if found[group] is not None), 1)
            span = found.span(group) if group != 1 else (found.end(), found.end())
            attributes.append(Attribute(found[1].lower(), text[slice(*span)], *span))
        position = found.end()
    source = text[start : position + 1]
    kind = Kind.END if match[1] else Kind.START
    return Part(kind, source, start, match[2].lower(), tuple(attributes))


def after(text: str, end: str, start: int) -> int:
    found = text.find(end, start)
    return len(text) if found < 0 else found + len(end)
