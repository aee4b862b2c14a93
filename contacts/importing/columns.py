"""Which column of a file is the address, which make the name, and what the others are called as merge tags: pure."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from mailkoenig.lib.command import UserError

ADDRESS = {
    "email", "mail", "emailaddress", "mailaddress", "emailadresse", "mailadresse", "emailadress",
    "adresseemail", "adressemail", "courriel", "correo", "correoelectronico", "correoelectrónico",
}  # fmt: skip
NAME = {"name", "fullname", "contactname", "vollständigername", "nomcomplet", "nombrecompleto"}
FIRST_NAME = {"firstname", "givenname", "forename", "vorname", "prénom", "prenom", "nombre"}
LAST_NAME = {"lastname", "surname", "familyname", "nachname", "familienname", "zuname", "nom", "apellidos"}

# What every mail has already; a column of that name is kept under another.
RESERVED = {"email", "name", "unsubscribe_url"}
UMLAUTS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "oe", "å": "aa", "ł": "l"}
)
LONGEST_KEY = 60


class NoSuchColumns(UserError):
    """The header is not one that contacts can be read with; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Where in a record things stand."""

    width: int
    address: int
    name: tuple[int, ...]
    """The cells that make the name, in order."""
    attributes: tuple[tuple[int, str], ...]
    """Index and key of every other column that has a name."""


def columns_of(header: Sequence[str]) -> Columns:
    """Read a header. Raises NoSuchColumns."""
    width = len(header)
    while width and not header[width - 1]:
        width -= 1  # spreadsheets write delimiters after the last column
    titles = [tidy(title) for title in header[:width]]
    address = the_address(header, titles)
    name = the_name(titles)
    used = {address, *(name if len(name) == 1 else [i for i in name if titles[i] in NAME])}
    attributes = tuple(
        (index, key_of(header[index])) for index in range(width) if titles[index] and index not in used
    )
    refuse_doubled(header, attributes)
    return Columns(width, address, name, attributes)


def is_header(cells: Sequence[str]) -> bool:
    """Say whether one of the cells is the title of an address column."""
    return any(tidy(cell) in ADDRESS for cell in cells)


def tidy(title: str) -> str:
    """Return a column's title without case, blanks and marks, for comparing."""
    return re.sub(r"[\s_.:*-]+", "", title).casefold()


def the_address(header: Sequence[str], titles: Sequence[str]) -> int:
    """Return the index of the one column with addresses."""
    found = [index for index, title in enumerate(titles) if title in ADDRESS]
    if len(found) == 1:
        return found[0]
    if found:
        both = " and ".join(f"“{header[index]}”" for index in found)
        raise NoSuchColumns(f"The columns {both} both hold addresses: keep one of them.")
    if any("@" in title for title in header):
        raise NoSuchColumns(
            "The first row holds an address, so the file has no header: add a first row such as “email,name”."
        )
    shown = ", ".join(f"“{title[:40]}”" for title in header[:10] if title) or "nothing"
    raise NoSuchColumns(f"No column holds the address: call it “email”. The first row holds {shown}.")


def the_name(titles: Sequence[str]) -> tuple[int, ...]:
    """Return the indexes of the columns that make the name: one for it, else first and last name."""
    name, first, last = (
        [index for index, title in enumerate(titles) if title in wanted]
        for wanted in (NAME, FIRST_NAME, LAST_NAME)
    )
    if len(name) > 1:
        raise NoSuchColumns("Two columns hold the name: keep one of them.")
    if name and not last and first and titles[first[0]] == "vorname":
        return (first[0], name[0])  # in German a “Name” beside a “Vorname” is the last name
    return tuple(name) or (*first[:1], *last[:1])


def key_of(title: str) -> str:
    """Return the merge tag of a column: lower_snake_case, and never a name that is taken."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", title).lower().translate(UMLAUTS))
    key = (
        re.sub(r"[^a-z0-9]+", "_", folded.encode("ascii", "ignore").decode())
        .strip("_")[:LONGEST_KEY]
        .rstrip("_")
    )
    if not key or key[0].isdigit():
        key = f"column_{key}".rstrip("_")
    return f"{key}_2" if key in RESERVED else key


def refuse_doubled(header: Sequence[str], attributes: Sequence[tuple[int, str]]) -> None:
    """Raise NoSuchColumns where two columns would share a merge tag."""
    titles: dict[str, str] = {}
    for index, key in attributes:
        if key in titles:
            raise NoSuchColumns(
                f"The columns “{titles[key]}” and “{header[index]}” have the same name: rename or remove one of them."
            )
        titles[key] = header[index]
