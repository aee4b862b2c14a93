"""A message as it comes in and as it stands."""

import base64
import binascii
from datetime import datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import Field, PlainValidator, WithJsonSchema

from campaigns.models import Message
from campaigns.services import written as limits
from mailkoenig.api.schemas.base import PAGE, Body, Cursor, Limit, Moment
from mailkoenig.providers.types import File


def decoded(value: Any) -> bytes:
    """Return what base64 text stands for."""
    if not isinstance(value, str):
        raise ValueError("It must be text in base64.")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("It is no base64.") from error


Base64 = Annotated[
    bytes,
    PlainValidator(decoded),
    WithJsonSchema({"type": "string", "contentEncoding": "base64", "examples": ["JVBERi0xLjc="]}),
]


# Written out: three models have a Status, and a description keeps one schema of a name.
MessageStatus = Annotated[Message.Status, WithJsonSchema({"type": "string", "enum": Message.Status.values})]


class AttachmentIn(Body):
    name: str = Field(max_length=limits.LONGEST_FILE_NAME, examples=["receipt.pdf"])
    content_type: str = Field("application/octet-stream", max_length=100, examples=["application/pdf"])
    content: Base64


class MessageIn(Body):
    """One mail to one person. Give `html`, `text` or both with a `subject`, or a `template` with its `variables`."""

    stream: str = Field(max_length=50, examples=["receipts"])
    idempotency_key: str | None = Field(
        None,
        max_length=limits.LONGEST_KEY,
        description="What caused the mail; once for ever. May come in the header Idempotency-Key instead.",
        examples=["order-1842:receipt:v1"],
    )
    to: str = Field(max_length=320, examples=["Ada Example <ada@example.com>"])
    subject: str = Field("", max_length=limits.LONGEST_SUBJECT)
    html: str = Field("", max_length=limits.LARGEST_PART)
    text: str = Field("", max_length=limits.LARGEST_PART)
    template: str = Field("", max_length=50)
    variables: dict[str, Any] = {}
    sender: str = Field(
        "",
        alias="from",
        max_length=320,
        description="Empty: the stream's own.",
        examples=["Shop <orders@example.com>"],
    )
    reply_to: str = Field("", max_length=320)
    headers: dict[str, str] = Field({}, max_length=limits.MOST_HEADERS)
    attachments: list[AttachmentIn] = Field([], max_length=limits.MOST_FILES)
    send_at: Moment | None = Field(
        None, description="Not before; a past moment means at once. Not part of the content."
    )
    expires_at: Moment | None = Field(
        None, description="Not after; what is older then is reported as expired. Not part of the content."
    )
    metadata: dict[str, Any] = Field({}, description="Yours; it comes back and is never sent.")
    tags: list[Annotated[str, Field(max_length=limits.LONGEST_TAG)]] = Field([], max_length=limits.MOST_TAGS)

    def arguments(self) -> dict[str, Any]:
        """Return what services.enqueue_message takes, but for the key."""
        given = self.model_dump(exclude={"idempotency_key", "attachments"})
        files = [File(file.name, file.content_type, file.content) for file in self.attachments]
        return {**given, "files": files}


class MessageOut(Schema):
    """`accepted`: the provider took it. `delivered`: the reader's server took it."""

    id: int | None = Field(description="Null where only the ledger remembers the message.")
    idempotency_key: str
    stream: str
    to: str
    subject: str
    status: MessageStatus
    reason: str = Field(description="Why it failed, was not sent or waits; often in the provider's words.")
    attempts: int
    created_at: datetime | None
    send_at: datetime | None = Field(description="When it is due, or due again.")
    accepted_at: datetime | None
    delivered_at: datetime | None
    expires_at: datetime | None
    tags: list[str]
    metadata: dict[str, Any]


def shown(message: Message) -> dict[str, Any]:
    """Return a message as callers see it."""
    return {
        "id": message.pk,
        "idempotency_key": message.idempotency_key,
        "stream": message.stream.name,
        "to": message.email,
        "subject": message.subject,
        "status": message.status,
        "reason": message.reason,
        "attempts": message.attempts,
        "created_at": message.created_at,
        "send_at": message.next_attempt_at,
        "accepted_at": message.sent_at,
        "delivered_at": message.delivered_at,
        "expires_at": message.expires_at,
        "tags": message.tags,
        "metadata": message.metadata,
    }


class MessageFilters(Body):
    stream: str = Field("", max_length=50, description="Empty: every stream that the token holds.")
    status: MessageStatus | None = None
    to: str = Field("", max_length=320, description="An address.")
    limit: Limit = PAGE
    cursor: Cursor | None = None


class MessagePage(Schema):
    """The newest first. A page may hold fewer than `limit`: go on until `next` is null."""

    items: list[MessageOut]
    next: str | None
