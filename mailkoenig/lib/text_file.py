"""Text from files of people's spreadsheets: which encoding it is, found without holding the file."""

import codecs
import io
import re
from typing import BinaryIO

from mailkoenig.lib.command import UserError

CHUNK = 1 << 20

# A byte that is no text in the file's encoding becomes this lone half of a character, which no file can hold itself.
UNREADABLE = re.compile("[\ud800-\udfff]")
MARK = "\udcff"

# Where a file that is no text begins, and what it then is.
MAGIC = (
    (b"PK\x03\x04", "a spreadsheet or a zip archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel spreadsheet"),
    (b"%PDF", "a PDF"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"SQLite format 3", "a database"),
    (b"{\\rtf", "a rich text document"),
)
MARKUP = re.compile(rb"\s*<(!doctype|html|table|\?xml)", re.IGNORECASE)
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like UTF-16's, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class NotText(UserError):
    """The file cannot be read as text; the message says what it is and what to do."""


def mark(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are no text as MARK."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return MARK, error.end


codecs.register_error("mailkoenig.mark", mark)


def encoding_of(file: BinaryIO) -> str:
    """Return the encoding of a file that can be read twice. Raises NotText.

    A byte-order mark decides. Without one it is UTF-8 where more bytes belong to proper UTF-8 characters than are
    wrong, and Windows-1252 where not: a few bad bytes spoil their own rows, never the umlauts of all the others.
    """
    file.seek(0)
    head = file.read(4096)
    refuse_other_kinds(head)
    for bom, name in BOMS:
        if head.startswith(bom):
            return name
    if CONTROL.search(head.split(b"\n", 1)[0]):
        raise NotText(
            "This is not a text file: open it in your spreadsheet program and save it as CSV (UTF-8)."
        )
    return "utf-8" if is_utf8(file) else "cp1252"


def refuse_other_kinds(head: bytes) -> None:
    """Raise NotText where the first bytes are those of something else than text, or of nothing."""
    if not head.strip():
        raise NotText("The file is empty: the first row must hold the names of the columns.")
    for magic, kind in MAGIC:
        if head.startswith(magic):
            raise NotText(
                f"This is {kind}, not a text file: open it in its program and save it as CSV (UTF-8)."
            )
    if MARKUP.match(head):
        raise NotText(
            "This is a web page or XML, not a table: open it in your spreadsheet program and save it as CSV (UTF-8)."
        )


def is_utf8(file: BinaryIO) -> bool:
    """Say whether the file is UTF-8, a few bad bytes allowed."""
    file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")(errors="mailkoenig.mark")
    bad = following = 0  # bytes that are wrong; bytes that follow the first one of a character
    while chunk := file.read(CHUNK):
        if chunk.isascii() and not decoder.getstate()[0]:
            continue
        text = decoder.decode(chunk)
        bad += len(UNREADABLE.findall(text))
        following += len(chunk) - len(text)
    bad += len(UNREADABLE.findall(decoder.decode(b"", final=True)))
    return not bad or following > bad


def open_text(file: BinaryIO, *, encoding: str) -> io.TextIOWrapper:
    """Return the file's text from the start, with line ends as they are; `detach()` it to keep the file open."""
    file.seek(0)
    return io.TextIOWrapper(file, encoding=encoding, errors="mailkoenig.mark", newline="")
