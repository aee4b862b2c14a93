"""Messages: written once under the caller's key."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, transaction

from campaigns.models import Attachment, Message
from campaigns.services import written
from campaigns.sql import messages, tallies
from mailkoenig.lib.command import UserError
from mailkoenig.providers.types import File

Status = Message.Status


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
    flow = written.flow_of(stream)
    written.check_key(idempotency_key)
    name, address = written.recipient_of(to)
    given: dict[str, Any] = {
        "stream": flow.name,
        "to": [name, address],
        "from": sender,
        "reply_to": reply_to,
        "subject": subject,
        "html": html,
        "text": text,
        "template": template,
        "variables": written.checked_data(variables or {}, field="variables"),
        "headers": written.checked_headers(headers or {}),
        "metadata": written.checked_data(metadata or {}, field="metadata"),
        "tags": written.checked_tags(tags),
        "files": [[file.name, file.content_type, sha256(file.content)] for file in files],
    }
    digest = sha256(json.dumps(given, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    known = found_under(idempotency_key, digest=digest)
    if known:
        return known
    if flow.draining:
        raise written.NotNow(
            f"The stream {flow} takes nothing new while it is being drained: send the same again later.",
            field="stream",
        )
    origin = written.sender_of(sender, flow)
    written.check_files(files)
    written.check_moments(send_at=send_at, expires_at=expires_at)
    parts = written.content_of(given, name=name, address=address)
    refusal = messages.refusal(address=address, stream=flow.pk)
    message = Message(
        stream=flow,
        domain=origin.domain,
        idempotency_key=idempotency_key,
        digest=digest,
        email=address,
        name=name,
        sender=origin.header,
        reply_to=written.checked_reply_to(reply_to) or origin.answers,
        headers=given["headers"],
        metadata=given["metadata"],
        tags=given["tags"],
        expires_at=expires_at,
        source=source,
        status=Status.SKIPPED if refusal else Status.PENDING,
        reason=f"suppressed: {refusal}" if refusal else "",
        **parts,
    )
    if not add(message, files=files, send_at=send_at):
        known = found_under(idempotency_key, digest=digest)
        if known is None:
            raise KeyTaken(
                f"The key {idempotency_key!r} is being used by a transaction that is not visible here: try again."
            )
        return known
    return Enqueued(message, is_new=True)


def add(message: Message, *, files: Sequence[File], send_at: datetime | None) -> bool:
    """Write a message with its files and wake a worker; False where its key is taken."""
    with transaction.atomic():
        given = messages.add(message, send_at=send_at)
        if given is None:
            return False
        # What the row holds now is known, so it is not read again: a caller waits for this.
        for name, value in given._asdict().items():
            setattr(message, name, value)
        message._state.adding, message._state.db = False, DEFAULT_DB_ALIAS
        Attachment.objects.bulk_create(
            Attachment(message=message, name=file.name, content_type=file.content_type, content=file.content)
            for file in files
        )
        messages.notify(message.stream.name)
    return True


def found_under(key: str, *, digest: str) -> Enqueued | None:
    """Return what a key was used for already. Raises KeyTaken where that says something else."""
    known = messages.known(key)
    if known is None:
        return None
    if known.digest != digest:
        raise KeyTaken(
            f"The key {key!r} was used for a message that says something else: use a new key for new content."
        )
    found = Message.objects.select_related("stream").filter(pk=known.message or 0).first()
    message = found or Message(
        # It is pruned; the ledger outlives it.
        idempotency_key=key,
        digest=known.digest,
        status=Status.SENT,
        sent_at=known.accepted_at,
    )
    if message.pk:
        messages.repeated(message.pk)
        name = message.stream.name
        transaction.on_commit(lambda: tallies.count("duplicate_key", stream=name))
    return Enqueued(message, is_new=False)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
