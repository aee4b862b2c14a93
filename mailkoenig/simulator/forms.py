"""A request's form, multipart or urlencoded, read without a detour: a call may carry a thousand fields."""

import binascii
import re
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

NAME = re.compile(rb'[; ]name="((?:[^"\\]|\\.)*)"|[; ]name=([^;\s]+)', re.IGNORECASE)
FILENAME = re.compile(rb'filename="((?:[^"\\]|\\.)*)"|filename\*?=([^;\r\n]+)', re.IGNORECASE)
BOUNDARY = re.compile(r'boundary=(?:"([^"]+)"|([^;\s]+))', re.IGNORECASE)
QUOTED_PRINTABLE = bytes.maketrans(b"+%", b" =")
FILES = ("attachment", "inline", "message")


class BadForm(ValueError):
    """The body is no form that we can read; the message says why."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with the message; its bytes are counted, not kept."""

    field: str
    filename: str
    size: int


@dataclass(slots=True)
class Form:
    """Every field with all its values, in the order they came."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    attachments: list[Attachment] = field(default_factory=list)

    def add(self, name: str, value: str) -> None:
        """Append one value of a field."""
        values = self.fields.get(name)
        if values is None:
            self.fields[name] = [value]
        else:
            values.append(value)

    def last(self, name: str) -> str:
        """Return the last value of a field, or nothing."""
        values = self.fields.get(name)
        return values[-1] if values else ""


def parse(content_type: str, body: bytes) -> Form:
    """Read a body by its content type."""
    kind = content_type.split(";", 1)[0].strip().lower()
    if kind == "multipart/form-data":
        return parse_multipart(content_type, body)
    if kind in ("application/x-www-form-urlencoded", ""):
        return parse_urlencoded(body)
    raise BadForm("Expecting 'multipart/form-data' or 'application/x-www-form-urlencoded'")


def parse_urlencoded(body: bytes) -> Form:
    """Read `a=1&a=2`."""
    form = Form()
    for pair in body.split(b"&"):
        if pair:
            name, _, value = pair.partition(b"=")
            form.add(decoded(unquoted(name)), decoded(unquoted(value)))
    return form


def unquoted(value: bytes) -> bytes:
    """Undo percent-encoding; through the quoted-printable decoder, which is C and twenty times as fast."""
    escapes = value.count(b"%")
    if escapes > 20 and not any(byte in value for byte in (b"=", b"\n", b"\r")):
        fast = binascii.a2b_qp(value.translate(QUOTED_PRINTABLE))
        # One broken escape and the lengths differ.
        if len(fast) == len(value) - 2 * escapes:
            return fast
    value = value.replace(b"+", b" ")
    return unquote_to_bytes(value) if escapes else value


def parse_multipart(content_type: str, body: bytes) -> Form:
    """Read `multipart/form-data`; a file without a name is dropped silently, as the provider does."""
    stated = BOUNDARY.search(content_type)
    if not stated:
        raise BadForm("multipart/form-data without a boundary")
    boundary = b"--" + (stated[1] or stated[2]).encode("latin-1")
    form = Form()
    parts = body.split(boundary)
    if len(parts) < 2 or not parts[-1].startswith(b"--"):
        raise BadForm("multipart/form-data that does not end with its boundary")
    names: dict[bytes, str] = {}  # a thousand parts share a handful of heads
    for part in parts[1:-1]:
        head, separator, content = part.partition(b"\r\n\r\n")
        name = names.get(head)
        if name is None:
            found = NAME.search(head)
            if not separator or not found:
                raise BadForm("a part of multipart/form-data without a name")
            name = names[head] = decoded(found[1] or found[2] or b"")
        if name in FILES:
            add_file(form, name, head, content[:-2])
        else:
            form.add(name, decoded(content[:-2]))
    return form


def add_file(form: Form, name: str, head: bytes, content: bytes) -> None:
    """Count a file."""
    filename = FILENAME.search(head)
    if filename:
        text = decoded(filename[1] or filename[2] or b"").strip()
        form.attachments.append(Attachment(name, text, len(content)))


def decoded(value: bytes) -> str:
    """Return text; a byte that is no UTF-8 becomes a replacement character."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode(errors="replace")
