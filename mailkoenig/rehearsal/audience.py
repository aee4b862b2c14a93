"""Made-up people for a rehearsal: names with umlauts, quotes, emoji, line breaks, and some without a name."""

import csv
from collections.abc import Iterator
from pathlib import Path

FIRST = (
    "Jörg",
    "Zoë",
    "Ida",
    "Anaïs",
    "Søren",
    "Łucja",
    "Björk",
    "Noël",
    "Ada",
    "François",
    "Chloé",
    "José",
    "Öznur",
    "Núria",
)
LAST = (
    "Müller & Söhne",
    "O'Neill",
    "van der Berg",
    "Grün",
    "García-Ruiz",
    "Smith",
    "Nováková",
    "Weiß",
    "Ångström",
    "D'Angelo",
)
ODD = (
    'Eva "Evi" Berg',
    "<b>Bold</b> Bea",
    "Sunny 🌞 Sam",
    "",
    "  ",
    "NULL",
    "100% Percy",
    "%recipient.name%",
    "{{ name }}",
    "Two\nLines",
)
CITIES = ("Köln", "Malmö", "Łódź", "Zürich", "Reykjavík", "Aix-en-Provence", "")


def rows(number: int, *, domain: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield address, name, city and plan of `number` people of a domain."""
    for n in range(number):
        odd = ODD[n // 20 % len(ODD)] if n % 20 == 7 else None
        name = f"{FIRST[n % len(FIRST)]} {LAST[n // 3 % len(LAST)]}" if odd is None else odd
        yield f"reader{n + 1:06d}@{domain}", name, CITIES[n % len(CITIES)], "gold" if n % 5 == 0 else "free"


def write(path: Path, number: int, *, domain: str) -> None:
    """Write a CSV as a spreadsheet would: with a byte-order mark, semicolons and CRLF."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["E-Mail", "Name", "City", "Plan"])
        writer.writerows(rows(number, domain=domain))
