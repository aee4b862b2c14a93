"""One record of a file to a contact, or the reason why not: pure."""

import re
from collections.abc import Callable

import orjson

from contacts.importing.columns import Columns
from mailkoenig.lib.addresses import InvalidAddress, normalise
from mailkoenig.lib.text_file import UNREADABLE

LONGEST_NAME = 200

# What programs write for "there is no name".
NO_NAME = {"", "null", "(null)", "none", "n/a", "#n/a", "nan", "undefined", "unknown", "-", "--", "—"}
# Blanks of every kind, line breaks, control characters and marks that turn the direction of text.
FOLDED = re.compile(
    "[\0-\x20\x7f-\xa0\xad\u1680\u2000-\u200b\u2028-\u202f\u205f\u2060\u2066-\u2069\u3000\ufeff]+"
)
# The same in a longer text, where line breaks and tabs mean something.
DROPPED = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufeff]+")


class Refused(Exception):
    """This record is not taken; the message says why in one sentence."""


Row = tuple[str, str, dict[str, str]]
"""A contact as a record of a file has it: address, name, attributes. No class: there are a million of them."""


def row_reader(columns: Columns) -> Callable[[list[str]], Row]:
    """Return what reads the cells of one record; it raises Refused."""
    width, at, name_at, attributes_at = columns.width, columns.address, columns.name, columns.attributes
    only_name = name_at[0] if len(name_at) == 1 else None

    def read(cells: list[str]) -> Row:
        if len(cells) != width:
            cells = fit(cells, width=width)
        is_plain = "".join(cells).isprintable()
        if not is_plain:
            refuse_unreadable(cells)
        try:
            address = normalise(cells[at])
        except InvalidAddress as error:
            raise Refused(reason_of(error, cells)) from error
        if only_name is not None:
            name = tidy_name(cells[only_name])
        else:
            name = " ".join(filter(None, [tidy_name(cells[index]) for index in name_at]))
        if len(name) > LONGEST_NAME:
            raise Refused(f"The name is longer than {LONGEST_NAME} characters.")
        attributes = {key: text for index, key in attributes_at if (text := cells[index].strip())}
        if attributes and not is_plain:
            attributes = {key: DROPPED.sub(" ", text).strip() for key, text in attributes.items()}
        return address, name, attributes

    return read


def fit(cells: list[str], *, width: int) -> list[str]:
    """Return `width` cells: missing ones are empty, and only empty ones may be too many."""
    if len(cells) < width:
        return cells + [""] * (width - len(cells))
    if any(cell.strip() for cell in cells[width:]):
        raise Refused(f"There are {len(cells)} cells, but the header names {width} columns.")
    return cells[:width]


def refuse_unreadable(cells: list[str]) -> None:
    """Raise Refused for what no text can hold, or what is none in the file's encoding."""
    text = "\n".join(cells)
    if "\0" in text:
        raise Refused("The row holds a zero byte.")
    if UNREADABLE.search(text):
        raise Refused("The row holds bytes that cannot be read in the encoding of the file.")


def reason_of(error: InvalidAddress, cells: list[str]) -> str:
    """Return why there is no address."""
    if not any(cell.strip() for cell in cells):
        return "The row is empty."
    return FOLDED.sub(" ", str(error))[:300]


def tidy_name(name: str) -> str:
    """Return a name on one line, without what only looks like one."""
    if not name.isprintable() or "  " in name:
        name = FOLDED.sub(" ", name)
    name = name.strip()
    return "" if len(name) <= 9 and name.lower() in NO_NAME else name


def copy_line(number: int, row: Row) -> str:
    """Return a record as a line of PostgreSQL's COPY."""
    address, name, attributes = row
    if "\\" in name:
        name = name.replace("\\", "\\\\")
    if not attributes:
        return f"{number}\t{address}\t{name}\t{{}}\t\\N\n"
    written = orjson.dumps(attributes).decode().replace("\\", "\\\\")
    return f"{number}\t{address}\t{name}\t{written}\t\\N\n"


def refusal_line(number: int, reason: str) -> str:
    """Return a refusal as a line of the same COPY."""
    reason = FOLDED.sub(" ", UNREADABLE.sub("?", reason)).replace("\\", "\\\\")
    return f"{number}\t\\N\t\\N\t\\N\t{reason}\n"
