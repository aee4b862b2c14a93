"""Messages: written once under the caller's key."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from email.utils import formataddr, parseaddr
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction

from campaigns.content import BUILT_IN, ContentError, Person
from campaigns.models import Attachment, Message, MessageTemplate, SenderDomain, Stream
from campaigns.services.templates import compiled_template
from campaigns.sql import messages, tallies
from mailkoenig.lib import db
from mailkoenig.lib.addresses import InvalidAddress, domain_of, normalise
from mailkoenig.lib.command import UserError
from mailkoenig.lib.storable import NotStorable, storable
from mailkoenig.providers.types import File

Status = Message.Status

LONGEST_KEY = 200
LONGEST_SUBJECT = 998
LARGEST_PART = 1_000_000
LARGEST_DATA = 16_384
MOST_HEADERS = 20
LONGEST_HEADER = 998
MOST_TAGS = 8
LONGEST_TAG = 128
MOST_FILES = 10
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


class KeyTaken(UserError):
    """The key was used for a message that says something else."""


class Enqueued(NamedTuple):
    """The message under a key, and whether this call wrote it."""

    message: Message
    is_new: bool


def enqueue_message(
    *,
    stream: str,
    idempotency_key: str,
    to: str,
    subject: str = "",
    html: str = "",
    text: str = "",
    template: str = "",
    variables: Mapping[str, Any] | None = None,
    sender: str = "",
    reply_to: str = "",
    headers: Mapping[str, str] | None = None,
    files: Sequence[File] = (),
    send_at: datetime | None = None,
    expires_at: datetime | None = None,
    metadata: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    source: str = "",
) -> Enqueued:
    """Write one mail in the caller's transaction, to be sent once by whichever worker is next.

    The key is the business event's, such as `order-1842:receipt:v1`. The same key with the same content returns the
    first one's message as it is now; `send_at` and `expires_at` are not content. Give `html`, `text` or both, or a
    `template` with its `variables`. A message to an address that may not be mailed is kept as skipped, with the reason.

    Raises KeyTaken where the key was used for other content, MessageRefused with the field for what can't be sent.
    """
    flow = flow_of(stream)
    check_key(idempotency_key)
    name, address = recipient_of(to)
    given: dict[str, Any] = {
        "stream": flow.name,
        "to": [name, address],
        "from": sender,
        "reply_to": reply_to,
        "subject": subject,
        "html": html,
        "text": text,
        "template": template,
        "variables": checked_data(variables or {}, field="variables"),
        "headers": checked_headers(headers or {}),
        "metadata": checked_data(metadata or {}, field="metadata"),
        "tags": checked_tags(tags),
        "files": [[file.name, file.content_type, sha256(file.content)] for file in files],
    }
    digest = sha256(json.dumps(given, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    known = found_under(idempotency_key, digest=digest)
    if known:
        return known
    if flow.draining:
        raise MessageRefused(f"The stream {flow} takes nothing new: it is being drained.", field="stream")
    domain, header = sender_of(sender, flow)
    check_files(files)
    now = db.now()
    if expires_at is not None and expires_at <= max(now, send_at or now):
        raise MessageRefused("It expires before it could be sent: give a later moment.", field="expires_at")
    parts = content_of(given, name=name, address=address)
    refusal = messages.refusal(address=address, stream=flow.pk)
    with transaction.atomic():
        row = messages.add(
            {
                **parts,
                "stream": flow.pk,
                "domain": domain.pk,
                "key": idempotency_key,
                "digest": digest,
                "email": address,
                "name": name,
                "sender": header,
                "reply_to": checked_reply_to(reply_to),
                "headers": json.dumps(given["headers"]),
                "metadata": json.dumps(given["metadata"]),
                "tags": json.dumps(given["tags"]),
                "send_at": send_at,
                "expires_at": expires_at,
                "source": source,
                "status": Status.SKIPPED if refusal else Status.PENDING,
                "reason": f"suppressed: {refusal}" if refusal else "",
            }
        )
        if row is not None:
            Attachment.objects.bulk_create(
                Attachment(
                    message_id=row, name=file.name, content_type=file.content_type, content=file.content
                )
                for file in files
            )
            messages.notify(flow.name)
    if row is None:
        known = found_under(idempotency_key, digest=digest)
        if known is None:
            raise KeyTaken(
                f"The key {idempotency_key!r} is being used by a transaction that is not visible here: try again."
            )
        return known
    return Enqueued(Message.objects.select_related("stream").get(pk=row), is_new=True)


def found_under(key: str, *, digest: str) -> Enqueued | None:
    """Return what a key was used for already. Raises KeyTaken where that says something else."""
    message = Message.objects.select_related("stream").filter(idempotency_key=key).first()
    if message is None:
        sent = messages.sent(key)
        if sent is None:
            return None
        # The message itself is pruned; the ledger outlives it.
        message = Message(
            idempotency_key=key, digest=sent.digest, status=Status.SENT, sent_at=sent.accepted_at
        )
    if message.digest != digest:
        raise KeyTaken(
            f"The key {key!r} was used for a message that says something else: use a new key for new content."
        )
    if message.pk:
        messages.repeated(message.pk)
        name = message.stream.name
        transaction.on_commit(lambda: tallies.count("duplicate_key", stream=name))
    return Enqueued(message, is_new=False)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def flow_of(name: str) -> Stream:
    """Return the stream of messages with this name."""
    flow = Stream.objects.select_related("domain").filter(name=name).first()
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


def sender_of(text: str, flow: Stream) -> tuple[SenderDomain, str]:
    """Return the domain that a message leaves from and its From header, which must belong together."""
    written = text or flow.sender
    name, address = header_address(written, field="from") if written else ("", "")
    domain = flow.domain or domain_for(domain_of(address) if address else "")
    if domain is None:
        raise MessageRefused(
            f"There is no domain to send it from: choose one for the stream {flow} in the admin.",
            field="from",
        )
    if not address:
        return domain, f"no-reply@{domain.name}"
    if not is_aligned(domain_of(address), domain):
        raise MessageRefused(
            f"Mail of the stream {flow} leaves from {domain.name}: give an address of that domain.",
            field="from",
        )
    return domain, formataddr((name, address))


def domain_for(wanted: str) -> SenderDomain | None:
    """Return the registered domain that fits an address's, else the shared one, else the only one."""
    domains = list(SenderDomain.objects.order_by("is_shared", "id"))
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
