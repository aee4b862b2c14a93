"""One reader's facts, as they may stand in a mail: on one line, without what can't be shown or stored."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

LONGEST_NAME = 200
LONGEST_ATTRIBUTE = 50_000
# What databases and spreadsheets leave where nothing was; "Null" is not among them, people are called that.
NOTHING = frozenset({"NULL", "null", "None", "none", "NaN", "nan", "undefined", "N/A", "n/a", "#N/A"})
# Control characters, line and paragraph breaks, direction overrides and halves of characters.
UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
WORD = re.compile(r"[^\W_]")
UNSAFE_IN_LINK = re.compile(r"[^!#-;=?-Z\[\]_a-z~]")


class Person(NamedTuple):
    """Whom one copy of the mail is for."""

    email: str
    name: str
    attributes: Mapping[str, object]
    unsubscribe_url: str


class Rendered(NamedTuple):
    """The mail as one person reads it."""

    subject: str
    html: str
    text: str


Getter = Callable[[Person], str]


def fold(text: str) -> str:
    """Return `text` on one line: breaks and what can't be shown become one blank, the ends are bare."""
    if text.isprintable():
        return text.strip()
    return " ".join(UNSHOWN.sub(" ", text).split())


def name_of(person: Person) -> str:
    """Return the name, or nothing where it is no name: empty, NULL, a dash."""
    name = fold(person.name or "")[:LONGEST_NAME]
    if name in NOTHING or not (name[:1].isalnum() or WORD.search(name)):
        return ""
    return name


def email_of(person: Person) -> str:
    return fold(person.email)


def unsubscribe_url_of(person: Person) -> str:
    """Return the link so that it can stand anywhere, HTML included, as it is."""
    return UNSAFE_IN_LINK.sub(percent, person.unsubscribe_url)


def percent(match: re.Match[str]) -> str:
    return "".join(f"%{octet:02X}" for octet in match[0].encode("utf-8", "replace"))


def attribute_of(name: str) -> Getter:
    """Return what reads the contact's attribute `name`."""

    def read(person: Person) -> str:
        value = person.attributes.get(name)
        text = fold(value if isinstance(value, str) else plain(value))
        return "" if text in NOTHING else text[:LONGEST_ATTRIBUTE]

    return read


def plain(value: object) -> str:
    """Return a JSON value as a person would write it; what has parts with names is nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value.bit_length() < 1_000 else ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else format(value)
    if isinstance(value, list | tuple):
        return ", ".join(plain(part) for part in value[:100] if not isinstance(part, list | tuple | Mapping))
    return ""


BUILT_IN: Mapping[str, Getter] = {"name": name_of, "email": email_of, "unsubscribe_url": unsubscribe_url_of}
