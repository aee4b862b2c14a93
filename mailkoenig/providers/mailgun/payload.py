"""One Mailgun event, from a webhook or from the events API, to our words: pure."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

from mailkoenig.lib.addresses import InvalidAddress, normalise
from mailkoenig.providers.mailgun.bounces import classify, text
from mailkoenig.providers.types import EventType, ProviderEvent

PROVIDER = "mailgun"
# Mailgun's word to ours; `failed` is for bounces.py, and any other word is kept as OTHER.
TYPES = {
    "accepted": EventType.ACCEPTED,
    "delivered": EventType.DELIVERED,
    "opened": EventType.OPENED,
    "clicked": EventType.CLICKED,
    "unsubscribed": EventType.UNSUBSCRIBED,
    "complained": EventType.COMPLAINED,
    "rejected": EventType.REJECTED,  # events API only: Mailgun itself refused the mail
}
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
LONGEST_ID = 200
LONGEST_ADDRESS = 320
LONGEST_DOMAIN = 253
LONGEST_WORD = 20
LONGEST_REASON = 2000
LARGEST_ID = 2**63 - 1
IN_BRACKETS = re.compile(r"<([^<>]*)>\s*$")
NOTHING: Mapping[str, object] = {}


def event(payload: Mapping[str, object], *, received_at: datetime, domain: str = "") -> ProviderEvent:
    """Return a stored-safe payload as an event.

    `received_at` stands in for a time that is missing or absurd, `domain` for a domain that is not named. Nothing in
    the payload is required: an event that says nothing is kept as OTHER.
    """
    word = text(payload, "event").strip().casefold()
    severity, reason = text(payload, "severity"), why(payload)
    status = section(payload, "delivery-status")
    kind, suppression = TYPES.get(word, EventType.OTHER), ""
    if word == "failed":
        kind, suppression = classify(severity=severity, reason=text(payload, "reason"), status=status)
    variables, known_as = user_variables(payload), message_id(payload)
    return ProviderEvent(
        provider=PROVIDER,
        domain=(text(section(payload, "domain"), "name") or domain).strip().lower()[:LONGEST_DOMAIN],
        event_id=identity(payload),
        type=kind,
        occurred_at=moment(payload, otherwise=received_at),
        address=address(payload),
        payload=payload,
        # A delayed bounce comes without variables; our Message-Id begins with the batch.
        batch=batch(variables.get("batch")) or batch(known_as.partition("@")[0]),
        recipient=row_id(variables.get("rid")),
        message=row_id(variables.get("message")),
        campaign=row_id(variables.get("campaign")),
        message_id=known_as,
        severity=severity.strip().casefold()[:LONGEST_WORD],
        reason=reason[:LONGEST_REASON],
        suppression=suppression,
        is_machine=is_machine(payload),
    )


def section(payload: Mapping[str, object], key: str) -> Mapping[str, object]:
    """Return the object at `key`, and an empty one where there is none."""
    value = payload.get(key)
    return value if isinstance(value, dict) else NOTHING


def is_machine(payload: Mapping[str, object]) -> bool:
    """Say whether Mailgun names the program behind it: apple, gmail, or generic for a scanner; a person leaves it empty."""
    return bool(text(section(payload, "client-info"), "bot").strip())


def user_variables(payload: Mapping[str, object]) -> Mapping[str, object]:
    """Return the variables we sent along; the Logs API gives them as JSON in a string."""
    value = payload.get("user-variables")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return NOTHING
    return value if isinstance(value, dict) else NOTHING


def batch(value: object) -> UUID | None:
    """Return our batch id, and None for what is none."""
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


def row_id(value: object) -> int | None:
    """Return our row id, which comes back as text from a batch and may come as a number."""
    if isinstance(value, str) and value.isascii() and value.strip().isdigit() and len(value) < 25:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST_ID:
        return value
    return None


def message_id(payload: Mapping[str, object]) -> str:
    """Return the Message-Id in the form of the events API: without angle brackets."""
    return text(section(section(payload, "message"), "headers"), "message-id").strip().strip("<>")[:255]


def address(payload: Mapping[str, object]) -> str:
    """Return whom the event is about; a `rejected` names them in the To header only."""
    written = text(payload, "recipient") or text(section(section(payload, "message"), "headers"), "to")
    bracketed = IN_BRACKETS.search(written)
    written = bracketed.group(1) if bracketed else written
    try:
        return normalise(written)
    except InvalidAddress:
        return written.strip().lower()[:LONGEST_ADDRESS]


def why(payload: Mapping[str, object]) -> str:
    """Return Mailgun's and the reader's server's words for a failure in one line."""
    status, reject = section(payload, "delivery-status"), section(payload, "reject")
    parts = [text(payload, "reason"), text(reject, "reason"), text(reject, "description")]
    if text(payload, "event").strip().casefold() == "failed":
        parts += [text(status, "code"), text(status, "message"), text(status, "description")]
    return " ".join(" ".join(part.split()) for part in parts if part.strip())


def moment(payload: Mapping[str, object], *, otherwise: datetime) -> datetime:
    """Return when it happened: seconds since 1970 as a number or text, or ISO 8601 in the Logs API."""
    value = payload.get("timestamp", payload.get("@timestamp"))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return otherwise
    found = _from_seconds(value) or _from_text(str(value))
    # A day of grace for clocks that differ; what is later has not happened.
    return found if found and EARLIEST <= found <= otherwise + timedelta(days=1) else otherwise


def _from_seconds(value: str | int | float) -> datetime | None:
    try:
        seconds = float(value)
        return datetime.fromtimestamp(seconds, UTC) if math.isfinite(seconds) else None
    except (ValueError, OverflowError, OSError):
        return None


def _from_text(value: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def identity(payload: Mapping[str, object]) -> str:
    """Return Mailgun's id of the event; where it is missing, the same text for the same event."""
    given = text(payload, "id").strip()
    if given and len(given) <= LONGEST_ID:
        return given
    facts = [given, message_id(payload), *(text(payload, key) for key in IDENTIFYING)]
    return "sha256:" + hashlib.sha256(json.dumps(facts).encode()).hexdigest()


IDENTIFYING = ("event", "recipient", "timestamp", "@timestamp", "severity", "url")
