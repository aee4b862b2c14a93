"""What a caller may write: checked field by field, each refusal with the field's name."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from email.utils import formataddr, parseaddr
from typing import Any, NamedTuple

from django.conf import settings

from campaigns.content import BUILT_IN, ContentError, Person
from campaigns.models import MessageTemplate, SenderDomain, Stream
from campaigns.services.templates import compiled_template
from campaigns.sql import messages
from mailkoenig.lib import db
from mailkoenig.lib.addresses import InvalidAddress, domain_of, normalise
from mailkoenig.lib.command import UserError
from mailkoenig.lib.storable import NotStorable, storable
from mailkoenig.providers.types import File

LONGEST_KEY = 200
LONGEST_SUBJECT = 998
LARGEST_PART = 1_000_000
LARGEST_DATA = 16_384
MOST_HEADERS = 20
LONGEST_HEADER = 998
MOST_TAGS = 8
LONGEST_TAG = 128
MOST_FILES = 10
FARTHEST = timedelta(days=366)
LONGEST_FILE_NAME = 255
# The ledger's keys of campaign mail; a message must never count as one.
RESERVED_KEY = re.compile(r"campaign-\d", re.I)
HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,76}")
# What the provider or we write ourselves, or what would change who gets it.
OUR_HEADERS = {
    "bcc",
    "cc",
    "date",
    "dkim-signature",
    "from",
    "message-id",
    "mime-version",
    "received",
    "reply-to",
    "return-path",
    "sender",
    "subject",
    "to",
}
OUR_HEADER_PREFIXES = ("content-", "x-mailgun-", "arc-", "authentication-")
MIME_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,50}/[A-Za-z0-9!#$&^_.+-]{1,49}")


class MessageRefused(UserError):
    """The message can't be taken as it is; `field` names what is wrong with it."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


class NotNow(MessageRefused):
    """Nothing is wrong with the message: it can be taken later, as it is."""


def flow_of(name: str) -> Stream:
    """Return the stream of messages with this name."""
    flow = messages.flow(name)
    if flow is None:
        raise MessageRefused(
            f"There is no stream {name!r}: use one of those in the admin, such as receipts.", field="stream"
        )
    if flow.kind != Stream.Kind.TRANSACTIONAL:
        raise MessageRefused(
            f"The stream {name!r} is for campaigns: messages go to a transactional one.", field="stream"
        )
    return flow


def check_key(key: str) -> None:
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable() or key != key.strip():
        raise MessageRefused(
            f"The key must be 1 to {LONGEST_KEY} characters without line breaks, such as order-1842:receipt:v1.",
            field="idempotency_key",
        )
    if RESERVED_KEY.match(key):
        raise MessageRefused(
            "Keys that begin with campaign- and a number belong to campaigns: begin it with something else.",
            field="idempotency_key",
        )


def recipient_of(to: str) -> tuple[str, str]:
    """Return name and address."""
    name, address = header_address(to, field="to")
    return name[:200], address


def header_address(text: str, *, field: str) -> tuple[str, str]:
    """Return name and normalised address of `ann@example.com` or `Ann <ann@example.com>`."""
    if len(text) > 320 or any(not letter.isprintable() for letter in text):
        raise MessageRefused("It must be one address on one line.", field=field)
    name, address = parseaddr(text) if "<" in text else ("", text)
    try:
        return name.strip(), normalise(address)
    except InvalidAddress as error:
        raise MessageRefused(f"It is not an address: {error}", field=field) from error


def checked_reply_to(text: str) -> str:
    if not text:
        return ""
    return formataddr(header_address(text, field="reply_to"))


class Origin(NamedTuple):
    """Where a message comes from: the domain, the From header that belongs to it, and who gets the answers if not that."""

    domain: SenderDomain
    header: str
    answers: str = ""


def sender_of(text: str, flow: Stream) -> Origin:
    """Return where a message comes from. On the shared domain nobody's own address would be aligned, so it gets answers."""
    written = text or flow.sender
    name, address = header_address(written, field="from") if written else ("", "")
    domain = flow.domain or domain_for(domain_of(address) if address else "")
    if domain is None:
        raise MessageRefused(
            f"There is no domain to send it from: choose one for the stream {flow} in the admin.",
            field="from",
        )
    ours = f"no-reply@{domain.name}"
    if not address:
        return Origin(domain, ours)
    if is_aligned(domain_of(address), domain):
        return Origin(domain, formataddr((name, address)))
    if domain.is_shared:
        return Origin(domain, formataddr((name, ours)), address)
    raise MessageRefused(
        f"Mail of the stream {flow} leaves from {domain.name}: give an address of that domain.", field="from"
    )


def domain_for(wanted: str) -> SenderDomain | None:
    """Return the registered domain that fits an address's, else the shared one, else the only one."""
    domains = messages.domains()
    fitting = [domain for domain in domains if wanted and is_aligned(wanted, domain)]
    shared = [domain for domain in domains if domain.is_shared]
    return next(iter([*fitting, *shared, *(domains if len(domains) == 1 else [])]), None)


def is_aligned(wanted: str, domain: SenderDomain) -> bool:
    """Say whether mail from an address of `wanted` may leave from a domain: the same, above or below it."""
    if wanted == domain.name:
        return True
    # On a domain that many share nobody's own address would be aligned.
    return not domain.is_shared and (
        wanted.endswith(f".{domain.name}") or (domain.name.endswith(f".{wanted}") and "." in wanted)
    )


def check_moments(*, send_at: datetime | None, expires_at: datetime | None) -> None:
    now = db.now()
    for field, moment in (("send_at", send_at), ("expires_at", expires_at)):
        if moment is None:
            continue
        if moment.tzinfo is None:
            raise MessageRefused(
                "It has no time zone: write it such as 2027-01-31T09:00:00+01:00.", field=field
            )
        if moment > now + FARTHEST:
            raise MessageRefused(f"It is more than {FARTHEST.days} days ahead.", field=field)
    if expires_at is not None and expires_at <= max(now, send_at or now):
        raise MessageRefused("It expires before it could be sent: give a later moment.", field="expires_at")


def content_of(given: Mapping[str, Any], *, name: str, address: str) -> dict[str, str]:
    """Return subject, html and text, from the caller or from the template."""
    if given["template"]:
        return rendered(given, name=name, address=address)
    subject, html, text = given["subject"], given["html"], given["text"]
    if given["variables"]:
        raise MessageRefused("Variables belong to a template: name one.", field="variables")
    if not subject.strip() or len(subject) > LONGEST_SUBJECT or any(c in subject for c in "\r\n\0"):
        raise MessageRefused(
            f"The subject must be one line of 1 to {LONGEST_SUBJECT} characters.", field="subject"
        )
    if not html.strip() and not text.strip():
        raise MessageRefused("It says nothing: give html, text or both.", field="html")
    for field in ("html", "text"):
        if len(given[field].encode("utf-8", "surrogatepass")) > LARGEST_PART:
            raise MessageRefused(f"It is larger than {LARGEST_PART:,} bytes: make it smaller.", field=field)
    try:
        clean = {field: str(storable(given[field])) for field in ("subject", "html", "text")}
    except NotStorable as error:
        raise MessageRefused(f"It can't be kept: {error}.", field="html") from error
    return clean


def rendered(given: Mapping[str, Any], *, name: str, address: str) -> dict[str, str]:
    """Return what a template says with these variables."""
    if given["subject"] or given["html"] or given["text"]:
        raise MessageRefused("Give a template, or subject with html or text; not both.", field="template")
    found = MessageTemplate.objects.filter(name=given["template"]).first()
    if found is None:
        raise MessageRefused(f"There is no template {given['template']!r}.", field="template")
    try:
        mail = compiled_template(found)
    except ContentError as error:
        raise MessageRefused(f"The template {found} can't be used: {error}", field="template") from error
    missing = sorted({*mail.without_default} - {*given["variables"], *BUILT_IN})
    if missing:
        raise MessageRefused(
            f"The template {found} needs a value for {', '.join(missing)}.", field="variables"
        )
    says = mail.render(Person(address, name, given["variables"], ""))
    return {"subject": says.subject, "html": says.html, "text": says.text}


def checked_data(data: Mapping[str, Any], *, field: str) -> dict[str, Any]:
    """Return the caller's own data as it can be stored."""
    try:
        clean = storable(dict(data))
    except NotStorable as error:
        raise MessageRefused(f"It can't be kept: {error}.", field=field) from error
    if len(json.dumps(clean)) > LARGEST_DATA:
        raise MessageRefused(f"It is larger than {LARGEST_DATA:,} bytes: make it smaller.", field=field)
    return clean if isinstance(clean, dict) else {}


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    if len(headers) > MOST_HEADERS:
        raise MessageRefused(f"There are more than {MOST_HEADERS} headers.", field="headers")
    for name, text in headers.items():
        if not HEADER_NAME.fullmatch(name):
            raise MessageRefused(f"{name[:80]!r} is no name of a header.", field="headers")
        if name.lower() in OUR_HEADERS or name.lower().startswith(OUR_HEADER_PREFIXES):
            raise MessageRefused(f"The header {name} can't be set here.", field="headers")
        if len(text) > LONGEST_HEADER or not text.isprintable():
            raise MessageRefused(
                f"The header {name} must be one line of at most {LONGEST_HEADER} characters.", field="headers"
            )
    return dict(headers)


def checked_tags(tags: Sequence[str]) -> list[str]:
    if len(tags) > MOST_TAGS:
        raise MessageRefused(f"There are more than {MOST_TAGS} tags.", field="tags")
    for tag in tags:
        if not 0 < len(tag) <= LONGEST_TAG or not tag.isascii() or not tag.isprintable():
            raise MessageRefused(f"A tag must be 1 to {LONGEST_TAG} ASCII characters.", field="tags")
    return list(tags)


def check_files(files: Sequence[File]) -> None:
    if len(files) > MOST_FILES:
        raise MessageRefused(f"There are more than {MOST_FILES} attachments.", field="attachments")
    if sum(len(file.content) for file in files) > settings.MESSAGE_MAX_ATTACHMENT_BYTES:
        raise MessageRefused(
            f"The attachments are larger than {settings.MESSAGE_MAX_ATTACHMENT_BYTES:,} bytes together.",
            field="attachments",
        )
    for file in files:
        if (
            not 0 < len(file.name) <= LONGEST_FILE_NAME
            or not file.name.isprintable()
            or set(file.name) & set('/\\"')
        ):
            raise MessageRefused(
                "An attachment needs a name on one line, without slashes or quotes.", field="attachments"
            )
        if not MIME_TYPE.fullmatch(file.content_type):
            raise MessageRefused(
                f"{file.content_type[:80]!r} is no type of a file, such as application/pdf.",
                field="attachments",
            )
