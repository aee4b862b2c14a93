"""The filters of the merge language. None can make its value much longer, and none fails on any value."""

import re
from collections.abc import Callable
from datetime import datetime

from django.utils import dateformat

Filter = Callable[..., object]


def text_of(value: object) -> str:
    return value if isinstance(value, str) else str(value)


def default(value: object, argument: object) -> object:
    """Return the argument where the value is empty."""
    return argument if value == "" else value


def lower(value: object) -> str:
    return text_of(value).lower()


def upper(value: object) -> str:
    return text_of(value).upper()


def title(value: object) -> str:
    """Return each word with a capital; what follows an apostrophe stays small."""
    words = re.sub(r"([a-z])['\u2019]([A-Z])", lambda match: match[0].lower(), text_of(value).title())
    return re.sub(r"\d([A-Z])", lambda match: match[0].lower(), words)


def capfirst(value: object) -> str:
    text = text_of(value)
    return text[:1].upper() + text[1:]


def truncatechars(value: object, length: object) -> str:
    """Return at most `length` characters, the last an ellipsis where something is missing."""
    text, most = text_of(value), number(length)
    if most is None or len(text) <= most:
        return text
    return text[: max(int(most) - 1, 0)].rstrip() + "…"


def truncatewords(value: object, length: object) -> str:
    """Return at most `length` words, with an ellipsis where something is missing."""
    words, most = text_of(value).split(), number(length)
    if most is None or len(words) <= most:
        return " ".join(words)
    return " ".join(words[: max(int(most), 0)]) + " …"


def length(value: object) -> int:
    return len(text_of(value))


def pluralize(value: object, endings: object = "s") -> str:
    """Return the ending for one or for many: "s", or "y,ies"."""
    singular, _, plural = ("," + text_of(endings)).rpartition(",")
    singular = singular.lstrip(",")
    return singular if number(value) == 1 else plural


def date(value: object, pattern: object = "j F Y") -> str:
    """Return an ISO date in Django's date format; other text stays as it is."""
    text = text_of(value)
    try:
        return dateformat.format(datetime.fromisoformat(text), text_of(pattern))
    except (ValueError, OverflowError, TypeError):
        return text


def number(value: object) -> float | None:
    """Return the number that `value` is or spells, if any."""
    if isinstance(value, int | float):
        return float(value)
    text = text_of(value)
    if len(text) > 40 or not text[-1:].isdigit():
        return None
    try:
        return float(text)
    except ValueError:
        return None


FILTERS: dict[str, Filter] = {
    "default": default,
    "default_if_none": default,
    "lower": lower,
    "upper": upper,
    "title": title,
    "capfirst": capfirst,
    "truncatechars": truncatechars,
    "truncatewords": truncatewords,
    "length": length,
    "pluralize": pluralize,
    "date": date,
}
