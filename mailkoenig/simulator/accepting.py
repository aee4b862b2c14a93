"""The provider's rules for a message: what it refuses, in its words."""

import re
from dataclasses import dataclass
from email.utils import getaddresses, parsedate_to_datetime

import orjson

from mailkoenig.simulator.forms import Form
from mailkoenig.simulator.records import Content

MAX_RECIPIENTS = 1_000
MAX_REQUEST = 54_945_382  # 52.4 MiB
MAX_MESSAGE = 25 * 1024 * 1024
MAX_OPTIONS = 16 * 1024
OPTIONS = ("o:", "h:", "v:", "t:")
BODIES = ("text", "html", "amp-html", "template")
ADDRESS = re.compile(
    r"""(?:[^\s"(),:;<>@\[\\\].\x00-\x1f]+(?:\.[^\s"(),:;<>@\[\\\].\x00-\x1f]+)*|"(?:[^"\\\r\n]|\\.)+")"""
    r"@(?:(?!-)[\w-]{1,63}(?<!-)\.)+(?!-)[\w-]{2,63}(?<!-)\.?"
)
# What nearly every address looks like, and a list of such; the pattern above judges the rest.
PLAIN = r"[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*@(?:[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*\.)+[A-Za-z]{2,63}"
PLAIN_LIST = re.compile(f"{PLAIN}(?:, ?{PLAIN})*")
MESSAGE_ID = re.compile(r"<[^\s<>@]+@[^\s<>@]+>")


class Refused(Exception):
    """The provider took nothing."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class Submission:
    """A message that the provider would take."""

    content: Content
    message_id: str
    """The caller's own, without angle brackets; empty where it chose none that is well-formed."""


def checked(form: Form) -> Submission:
    """Return what the form asks for, or raise Refused as the provider would."""
    fields = form.fields
    check_presence(form)
    check_options(form)
    to = addresses(form, "to")
    if not to:
        raise Refused(400, "to parameter is missing")
    sender = addresses(form, "from")
    if sender and (len(sender) > 1 or not sender[0].isascii()):
        raise invalid("from")
    everybody = once(to + addresses(form, "cc") + addresses(form, "bcc"))
    if len(everybody) > MAX_RECIPIENTS:
        raise Refused(400, f"Too many recipients, max is {MAX_RECIPIENTS}")
    check_size(form)
    message_id = form.last("h:Message-Id").strip()
    return Submission(
        Content(fields, everybody, form.attachments, variables(form)),
        message_id[1:-1] if MESSAGE_ID.fullmatch(message_id) else "",
    )


def check_presence(form: Form) -> None:
    """Refuse a form without a required field."""
    fields = form.fields
    for name in ("from", "to"):
        if not any(value.strip() for value in fields.get(name, ())):
            if name == "from" and form.last("template"):
                continue
            raise Refused(400, f"{name} parameter is missing")
    if not any(form.last(name) for name in BODIES):
        raise Refused(400, "Need at least one of 'text' or 'html' parameters specified")
    if form.last("html") and form.last("template"):
        raise Refused(400, "Only one parameters 'html' or 'template' should be specified")


def check_options(form: Form) -> None:
    """Refuse options that are too long together, or not what they should be."""
    size = 0
    for name, values in form.fields.items():
        if name.startswith(OPTIONS):
            size += sum(len(name.encode()) + len(value.encode()) for value in values)
            if name.startswith("h:") and (not name.isascii() or len(name) == 2):
                raise Refused(400, "Header name must be pure ASCII")
    if size > MAX_OPTIONS:
        raise Refused(
            400, "Send options (parameters starting with o:, h:, v:, or t:) are limited to 16 kB total"
        )
    if (moment := form.last("o:deliverytime")) and not moment.isdigit():
        try:
            parsedate_to_datetime(moment)
        except ValueError as error:
            raise Refused(400, "o:deliverytime parameter is not an RFC-2822 compliant date") from error


def check_size(form: Form) -> None:
    """Refuse a message over 25 MB; the variables are no part of it."""
    size = sum(len(form.last(name).encode()) for name in (*BODIES, "subject"))
    if size + sum(file.size for file in form.attachments) > MAX_MESSAGE:
        raise Refused(413, "Message size exceeds 25 MB limit")


def addresses(form: Form, name: str) -> list[str]:
    """Return the bare addresses of a field, which may be repeated, or separated by commas."""
    values = form.fields.get(name, ())
    together = ",".join(values)
    if PLAIN_LIST.fullmatch(together):
        return together.replace(" ", "").split(",")
    found: list[str] = []
    for value in values:
        for address in split(value):
            if not ADDRESS.fullmatch(address) or len(address) > 512:
                raise invalid(name)
            found.append(address)
    return found


def split(value: str) -> list[str]:
    """Split on commas outside quotes, and take the address out of `Name <address>`."""
    if '"' in value:
        return [address for _, address in getaddresses([value])]
    bare = (piece.strip() for piece in value.split(","))
    return [piece[piece.rfind("<") + 1 : -1] if piece.endswith(">") else piece for piece in bare if piece]


def once(found: list[str]) -> list[str]:
    """Drop repeated addresses, upper and lower case alike."""
    together = ",".join(found)
    if together == together.lower() and len(set(found)) == len(found):
        return found
    first: dict[str, str] = {}
    for address in found:
        first.setdefault(address.lower(), address)
    return list(first.values())


def variables(form: Form) -> dict[str, dict[str, object]] | None:
    """Return the recipient variables; None where the field is missing."""
    text = form.last("recipient-variables")
    if not text.strip():
        return None
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Refused(400, "'recipient-variables' parameter is not a valid JSON") from error
    if not isinstance(found, dict):
        raise Refused(400, "'recipient-variables' parameter is not a valid JSON")
    return found


def invalid(name: str) -> Refused:
    """Say it as the provider does: without the address."""
    return Refused(400, f"{name} parameter is not a valid address. please check documentation")
