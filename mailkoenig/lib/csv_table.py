"""Tables in CSV files as people have them: any usual delimiter, stray quotes, huge cells, in flat memory."""

import csv
import io
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from mailkoenig.lib.text_file import UNREADABLE, NotText, encoding_of, open_text

DELIMITERS = ",;\t|"
BLOCK = 1 << 16
LONGEST_LINE = 1 << 20
LONGEST_RECORD = 4 << 20
LONGEST_HEADER = 1 << 16
SEPARATOR = re.compile(r'\ufeff?"?sep=([,;\t|:^~])"?[\r\n]*', re.IGNORECASE)


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
        self.text = text
        self.ahead: deque[str | None] = deque()  # read but not taken; None is a line that was too long
        self.record: list[str] = []
        self.size = 0

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        if not self.ahead:
            self.ahead.extend(self.block() or ())
        if not self.ahead:
            raise StopIteration
        line = self.ahead.popleft()
        if line is None or self.size > LONGEST_RECORD:
            if self.record:
                self.ahead.appendleft(line)
            raise TooLong
        self.record.append(line)
        self.size += len(line)
        return line

    def begin(self) -> None:
        """Forget the lines of the record before: the next line begins one."""
        self.record.clear()
        self.size = 0

    def take_back(self) -> bool:
        """Take back all lines of the record but its first; say whether it had begun at all."""
        self.ahead.extendleft(reversed(self.record[1:]))
        return bool(self.record)

    def plain_block(self) -> Iterable[str] | None:
        """Return the next lines where none of them holds a quotation mark, so that each is a record; else None."""
        if self.ahead:
            return None
        lines = self.block()
        if isinstance(lines, io.StringIO) and '"' not in lines.getvalue():
            return lines
        self.ahead.extend(lines or ())
        return None

    def block(self) -> Iterable[str | None] | None:
        """Return some whole lines, the last of them None where it was too long; None at the end of the text."""
        text = self.text.read(BLOCK)
        if not text:
            return None
        if text[-1] not in "\r\n":
            text += self.text.readline(LONGEST_LINE)
        lines = io.StringIO(text, newline="")
        if text[-1] in "\r\n" or not self.pass_over_line():
            return lines
        return [*list(lines)[:-1], None]

    def pass_over_line(self) -> bool:
        """Read to the end of the line that has been begun; say whether there was more of it."""
        rest = begun = self.text.readline(LONGEST_LINE)
        while rest and rest[-1] not in "\r\n":
            rest = self.text.readline(LONGEST_LINE)
        return bool(begun)


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
    first = next((line for line in iter(lambda: text.readline(LONGEST_HEADER), "") if line.strip()), "")
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
    if UNREADABLE.search("".join(header)):
        raise NotText("The names of the columns cannot be read: save the file as CSV (UTF-8).")
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
    parse = partial(csv.reader, delimiter=delimiter, skipinitialspace=True, strict=True)
    reader = parse(lines)
    while True:
        if plain := lines.plain_block():
            yield from read_plain(parse(plain))
            continue
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


def read_plain(reader: Iterator[list[str]]) -> Iterator[list[str] | Damaged]:
    """Read records that hold no quotation mark: only a cell can be too long."""
    while True:
        try:
            yield from filter(None, reader)
            return
        except csv.Error as error:
            yield Damaged(meaning(str(error), is_multiline=False))


def meaning(error: str, *, is_multiline: bool) -> str:
    """Return what an error of the csv module means, in words for the person whose file it is."""
    if "field limit" in error:
        return OPEN_QUOTE if is_multiline else CELL_TOO_LONG
    if "expected after" in error and not is_multiline:
        return STRAY_QUOTE
    return OPEN_QUOTE
