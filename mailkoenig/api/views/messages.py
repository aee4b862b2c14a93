"""Messages: written, looked up and taken back."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from ninja import Query, Router, Status

from campaigns import services
from campaigns.models import Message
from mailkoenig.api import sql
from mailkoenig.api.door import check_stream, holder_of
from mailkoenig.api.problems import Problem
from mailkoenig.api.schemas.messages import MessageFilters, MessageIn, MessageOut, MessagePage, shown
from mailkoenig.lib.addresses import InvalidAddress, normalise

router = Router(tags=["messages"])

LAST = 2**63 - 1
# Rows that one page looks at while it searches for a state.
MOST_LOOKED_AT = 10_000
KEY_HEADER = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "description": "The key, where the body has none.",
    "schema": {"type": "string"},
}


@router.post(
    "",
    response={201: MessageOut, 200: MessageOut},
    operation_id="create_message",
    openapi_extra={"parameters": [KEY_HEADER]},
)
def create(
    request: HttpRequest,
    message: MessageIn,
) -> Status[dict[str, Any]]:
    """Write one mail under your own key, to be sent once.

    201: it is ready. 200: this key and content are known, and this is how the message stands. 409: the key was used for
    other content. 422 of type `suppressed`: the address is dead or its owner called our mail spam; it is not sent.
    """
    holder = holder_of(request)
    check_stream(holder, message.stream)
    found = services.enqueue_message(
        **message.arguments(),
        idempotency_key=one_key(message.idempotency_key, in_header=request.headers.get("Idempotency-Key")),
        source=f"API token {holder.name}",
    )
    written = found.message if found.message.pk else remembered(found.message, message)
    if written.status == Message.Status.SKIPPED:
        raise suppressed(written)
    return Status(201 if found.is_new else 200, shown(written))


def one_key(in_body: str | None, *, in_header: str | None) -> str:
    """Return the key, from wherever it came."""
    header = as_utf8(in_header) if in_header is not None else None
    if in_body is not None and header is not None and in_body != header:
        raise Problem.of_field(
            "idempotency_key", "The header Idempotency-Key says something else: give one key."
        )
    key = in_body if in_body is not None else header
    if key is None:
        raise Problem.of_field(
            "idempotency_key", "Give a key that names what caused the mail, such as order-1842:receipt:v1."
        )
    return key


def as_utf8(header: str) -> str:
    """Return a header as it was meant: WSGI hands its bytes on as Latin-1."""
    try:
        return header.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return header


def remembered(ledger: Message, given: MessageIn) -> Message:
    """Return what the ledger says of a message that is gone, filled up with the same content that was sent now."""
    ledger.stream = services.written.flow_of(given.stream)
    ledger.email = services.written.recipient_of(given.to)[1]
    ledger.subject, ledger.tags, ledger.metadata = given.subject, given.tags, given.metadata
    ledger.created_at = ledger.next_attempt_at = None  # type: ignore[assignment]  # nobody remembers
    return ledger


def suppressed(message: Message) -> Problem:
    """Say that nothing is sent to this address, the same each time."""
    reason = message.reason.removeprefix("suppressed: ")
    return Problem(
        422,
        f"Nothing is sent to this address: {reason}. A person can lift that in the admin under Suppressions.",
        kind="suppressed",
        errors=[("to", f"suppressed: {reason}")],
        reason=reason,
        message={"id": message.pk, "idempotency_key": message.idempotency_key, "status": message.status},
    )


@router.get("", response=MessagePage, operation_id="list_messages")
def many(request: HttpRequest, filters: Query[MessageFilters]) -> dict[str, Any]:
    """List messages, the newest first."""
    holder = holder_of(request)
    if filters.stream:
        check_stream(holder, filters.stream)
    look = sql.messages(
        before=int(filters.cursor) if filters.cursor else LAST,
        to=address(filters.to),
        status=filters.status or "",
        streams=[filters.stream] if filters.stream else holder.streams,
        limit=filters.limit,
        most=MOST_LOOKED_AT,
    )
    rows = Message.objects.select_related("stream").defer("html", "text").in_bulk(look.ids)
    return {
        "items": [shown(rows[id]) for id in look.ids if id in rows],
        "next": after(look, filters.limit, MOST_LOOKED_AT),
    }


def after(look: sql.Look, limit: int, most: int) -> str | None:
    """Return where the next page begins; None where there is none."""
    if len(look.ids) == limit:
        return str(look.ids[-1])
    return str(look.last) if look.looked_at == most and look.last is not None else None


def address(text: str) -> str:
    """Return the spelling that an address is kept in."""
    try:
        return normalise(text) if text else ""
    except InvalidAddress as error:
        raise Problem.of_field("to", f"It is not an address: {error}") from error


@router.get("/by-key/{path:key}", response=MessageOut, operation_id="get_message_by_key")
def by_key(request: HttpRequest, key: str) -> dict[str, Any]:
    """Show the message with this key; slashes and colons may stand in it as they are."""
    return shown(one(request, Message.objects.filter(idempotency_key=key)))


@router.get("/{int:id}", response=MessageOut, operation_id="get_message")
def by_id(request: HttpRequest, id: int) -> dict[str, Any]:
    """Show one message."""
    return shown(one(request, Message.objects.filter(pk=id)))


@router.post("/{int:id}/cancel", response=MessageOut, operation_id="cancel_message")
def cancel(request: HttpRequest, id: int) -> dict[str, Any]:
    """Take a message back while it is ready; 409 when it is too late. Cancelled twice is cancelled."""
    holder = holder_of(request)
    message = one(request, Message.objects.filter(pk=id))
    is_cancelled = services.cancel_message(message, by=f"API token {holder.name}")
    message.refresh_from_db()
    if not is_cancelled and message.status != Message.Status.CANCELLED:
        raise Problem(
            409,
            f"It is {message.get_status_display()}: only a message that is ready can be taken back.",
            kind="wrong-state",
        )
    return shown(message)


def one(request: HttpRequest, messages: QuerySet[Message]) -> Message:
    """Return the message that the token may see; others do not exist for it."""
    holder = holder_of(request)
    found = messages.select_related("stream").filter(stream__name__in=holder.streams).first()
    if found is None:
        raise Http404("There is no such message in a stream that this token holds.")
    return found
