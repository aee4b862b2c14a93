"""JSON from outside, as values that PostgreSQL's jsonb can hold."""

import json
import math
import re

# jsonb takes neither the zero character nor half of a surrogate pair; both pass every JSON parser.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
DEEPEST = 64
LONGEST_NUMBER = 1000


class NotStorable(ValueError):
    """The text is no JSON, or such that it will never be stored; the message says why."""


def loads(text: bytes) -> object:
    """Parse JSON and return it without what jsonb refuses: zero characters go, half characters become U+FFFD.

    Works on the parsed values, so a backslash that a person typed stays what it was. Of a repeated key the last
    counts. NaN and Infinity become their names.
    """
    try:
        return storable(json.loads(text, parse_constant=str, parse_int=_whole))
    except (ValueError, RecursionError) as error:
        raise NotStorable(str(error) if isinstance(error, NotStorable) else "it is no JSON") from error


def storable(value: object, *, depth: int = 0) -> object:
    """Return a parsed JSON value without what jsonb refuses."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if not isinstance(value, dict | list):
        return value
    if depth >= DEEPEST:
        raise NotStorable(f"it is nested more than {DEEPEST} deep")
    if isinstance(value, list):
        return [storable(item, depth=depth + 1) for item in value]
    return {clean(key): storable(item, depth=depth + 1) for key, item in value.items()}


def clean(text: str) -> str:
    """Return `text` without zero characters and with U+FFFD for each half character."""
    if not UNSTORABLE.search(text):
        return text
    return UNSTORABLE.sub("\ufffd", text.replace("\x00", ""))


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise NotStorable(f"it holds a number of more than {LONGEST_NUMBER} digits")
    return int(digits)
