"""Tables in CSV files as people have them: any usual delimiter, stray quotes, huge cells, in flat memory."""

import csv
import io
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from mailkoenig.lib.text_file import NotText, encoding_of, open_text

DELIMITERS = ",;\t|"
LONGEST_LINE = 1 << 20
LONGEST_RECORD = 4 << 20
LONGEST_HEADER = 1 << 16
SEPARATOR = re.compile(r'\ufeff?"?sep=(.)"?[\r\n]*', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Damaged:
    """A record that cannot be told apart from what follows it, and why."""

    reason: str


TOO_LONG = f"The row is longer than {LONGEST_LINE:,} characters."
CELL_TOO_LONG = f"A cell is longer than {csv.field_size_limit():,} characters."
OPEN_QUOTE = "A quotation mark opens in this row and is never closed."
STRAY_QUOTE = "A quotation mark stands inside a quoted cell: write it twice, or leave it out."


class TooLong(Exception):
    """A line, or a record of several, is longer than any row may be."""


class Lines:
    """The lines of a text, of which those of the record that is being read can be taken back."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self.readline = text.readline
        self.ahead: deque[str | None] = deque()  # taken back; None is a line that was too long
        self.record: list[str] = []
        self.size = 0

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        line = self.ahead.popleft() if self.ahead else self.read()
        if line is None or self.size > LONGEST_RECORD:
            if self.record:
                self.ahead.appendleft(line)
            raise TooLong
        if not line:
            raise StopIteration
        self.record.append(line)
        self.size += len(line)
        return line

    def begin(self) -> None:
        """Forget the lines of the record before: the next line begins one."""
        self.record.clear()
        self.size = 0

    def read(self) -> str | None:
        """Return the next line of the text; None, and pass over it, where it is too long."""
        line = self.readline(LONGEST_LINE)
        if len(line) < LONGEST_LINE or line[-1] in "\r\n":
            return line
        while (rest := self.readline(LONGEST_LINE)) and rest[-1] not in "\r\n":
            pass
        return None

    def take_back(self) -> bool:
        """Take back all lines of the record but its first; say whether it had begun at all."""
        self.ahead.extendleft(reversed(self.record[1:]))
        return bool(self.record)


@dataclass(frozen=True, slots=True)
class Table:
    """A file's header, and its records as they are read: lists of cells, or what could not be read as such."""

    header: list[str]
    records: Iterator[list[str] | Damaged]
    encoding: str
    delimiter: str


@contextmanager
def open_table(file: BinaryIO, *, is_header: Callable[[list[str]], bool]) -> Iterator[Table]:
    """Read the table in a file that can be read twice, and leave the file open. Raises NotText.

    `is_header` says whether cells look like the header that is wanted; it helps to tell the delimiter.
    """
    encoding = encoding_of(file)
    text = open_text(file, encoding=encoding)
    try:
        yield read_table(text, encoding=encoding, is_header=is_header)
    finally:
        text.detach()


def read_table(text: io.TextIOWrapper, *, encoding: str, is_header: Callable[[list[str]], bool]) -> Table:
    """Read the header, and prepare to read the rest."""
    lines = Lines(text)
    first = next((line for line in iter(lambda: lines.readline(LONGEST_HEADER), "") if line.strip()), "")
    if not first.strip("\ufeff \t\r\n"):
        raise NotText("The file is empty: the first row must hold the names of the columns.")
    if len(first) == LONGEST_HEADER:
        raise NotText("The first row is too long to be a header: is this a CSV file?")
    if separator := SEPARATOR.fullmatch(first):
        delimiter = separator[1]
    else:
        delimiter = delimiter_of(first, is_header=is_header)
        lines.ahead.append(first)
    records = read_records(lines, delimiter=delimiter)
    header = next(records, [])
    if isinstance(header, Damaged):
        raise NotText(f"The first row cannot be read as a header. {header.reason}")
    return Table([cell.strip("\ufeff").strip() for cell in header], records, encoding, delimiter)


def delimiter_of(line: str, *, is_header: Callable[[list[str]], bool]) -> str:
    """Return the delimiter that makes the best header of a line: one that is wanted, then one of many cells."""

    def worth(delimiter: str) -> tuple[bool, int]:
        cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
        return is_header([cell.strip("\ufeff").strip() for cell in cells]), len(cells)

    return max(DELIMITERS, key=worth)


def read_records(lines: Lines, *, delimiter: str) -> Iterator[list[str] | Damaged]:
    """Read one record after the other; blank lines are none.

    After a record whose quotes do not fit, reading goes on with the line after its first one: what a stray quote
    would swallow is read for itself.
    """
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    while True:
        lines.begin()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except TooLong:
            yield Damaged(OPEN_QUOTE if lines.take_back() else TOO_LONG)
        except csv.Error as error:
            lines.take_back()
            yield Damaged(meaning(str(error), is_multiline=len(lines.record) > 1))
        else:
            if cells:
                yield cells


def meaning(error: str, *, is_multiline: bool) -> str:
    """Return what an error of the csv module means, in words for the person whose file it is."""
    if "field limit" in error:
        return OPEN_QUOTE if is_multiline else CELL_TOO_LONG
    if "expected after" in error and not is_multiline:
        return STRAY_QUOTE
    return OPEN_QUOTE
