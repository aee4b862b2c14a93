"""The little language of the events API's filters, and how it bites."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

TOKEN = re.compile(r'"([^"]*)"|([()])|([^\s()"]+)')


@dataclass
class Reader:
    """Walks over an expression's words."""

    words: list[tuple[str, str]]
    """Kind (phrase, sign, word) and text."""
    at: int = 0

    def peek(self) -> tuple[str, str]:
        """Return the next word without taking it."""
        return self.words[self.at] if self.at < len(self.words) else ("end", "")

    def take(self) -> tuple[str, str]:
        """Return the next word."""
        word = self.peek()
        self.at += 1
        return word


def matches(expression: str, values: Sequence[str]) -> bool:
    """Say whether a field with these values fits: words are ANDed; OR, NOT, parentheses, quoted phrases; < and > compare.

    An expression with < or > that compares no number fits everything: a message id with its angle brackets
    returns unrelated events.
    """
    words = [
        ("sign", found[2]) if found[2] else ("word", found[3]) if found[3] else ("phrase", found[1] or "")
        for found in TOKEN.finditer(expression)
    ]
    reader = Reader(words)
    return not words or alternatives(reader, [value.lower() for value in values])


def alternatives(reader: Reader, values: Sequence[str]) -> bool:
    """Read `a OR b`."""
    fits = conjunction(reader, values)
    while reader.peek() == ("word", "OR"):
        reader.take()
        fits = conjunction(reader, values) or fits
    return fits


def conjunction(reader: Reader, values: Sequence[str]) -> bool:
    """Read `a b` and `a AND b`."""
    fits = term(reader, values)
    while reader.peek() not in (("end", ""), ("word", "OR"), ("sign", ")")):
        if reader.peek() == ("word", "AND"):
            reader.take()
        fits = term(reader, values) and fits
    return fits


def term(reader: Reader, values: Sequence[str]) -> bool:
    """Read one word, phrase, NOT or group."""
    kind, text = reader.take()
    if (kind, text) == ("word", "NOT"):
        return not term(reader, values)
    if (kind, text) == ("sign", "("):
        fits = alternatives(reader, values)
        reader.take()
        return fits
    if kind == "phrase":
        return any(text.lower() in value for value in values)
    if "<" in text or ">" in text:
        return compares(text, values)
    return any(text.lower() == value or text.lower() in value.split() for value in values)


def compares(text: str, values: Sequence[str]) -> bool:
    """Compare with a number; whatever is no number is no condition."""
    try:
        limit = float(text.strip("<>="))
        numbers = [float(value) for value in values]
    except ValueError:
        return True
    return any(number < limit if "<" in text else number > limit for number in numbers)
