"""Recording what the provider says, once, and forgetting it when it is old."""

import json
from collections.abc import Sequence
from datetime import UTC, timedelta
from typing import NamedTuple

from mailkoenig.lib import db
from mailkoenig.providers.types import ProviderEvent

# One statement, because each turn to the server costs a webhook a tenth of its time. A token that was used before admits
# nothing; the recipient is the one that the event claims, until the campaign knows better.
RECORD = """
WITH used AS (
    INSERT INTO webhook_tokens (token, body_digest)
    SELECT %(token)s::varchar, %(body_digest)s::bytea WHERE %(token)s::varchar IS NOT NULL
    ON CONFLICT DO NOTHING
    RETURNING token
), added AS (
    INSERT INTO email_events (
        provider, domain, provider_event_id, day, event_type, severity, reason, address,
        campaign_recipient_id, message_id, batch_id, source, raw_payload, occurred_at
    )
    SELECT
        %(provider)s, %(domain)s, %(provider_event_id)s, %(day)s::date, %(event_type)s, %(severity)s, %(reason)s,
        %(address)s, %(recipient)s::bigint, %(message)s::bigint, %(batch)s::uuid, %(source)s, %(raw_payload)s::jsonb,
        %(occurred_at)s::timestamptz
    WHERE %(token)s::varchar IS NULL OR EXISTS (SELECT FROM used)
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT (SELECT id FROM added), EXISTS (SELECT FROM used)
"""


class Recorded(NamedTuple):
    """The new row's id, None where there was one already, and whether the token was new."""

    event: int | None
    is_token_new: bool


def record(event: ProviderEvent, *, source: str, token: str | None, body_digest: bytes | None) -> Recorded:
    """Write the event unless it, or its token, is known."""
    parameters = {**columns(event), "source": source, "token": token, "body_digest": body_digest}
    recorded = db.fetch_planned(Recorded, RECORD, parameters)
    return recorded or Recorded(None, False)


def columns(event: ProviderEvent) -> dict[str, object]:
    """Return what a row holds of an event."""
    return {
        "provider": event.provider,
        "domain": event.domain,
        "provider_event_id": event.event_id,
        "day": event.occurred_at.astimezone(UTC).date(),
        "event_type": event.type.value,
        "severity": event.severity,
        "reason": event.reason,
        "address": event.address,
        "recipient": event.recipient,
        "message": event.message,
        "batch": event.batch,
        "raw_payload": json.dumps(event.payload, ensure_ascii=False),
        "occurred_at": event.occurred_at,
    }


RECORD_MANY = """
INSERT INTO email_events (
    provider, domain, provider_event_id, day, event_type, severity, reason, address, campaign_recipient_id,
    message_id, batch_id, raw_payload, occurred_at, source
)
SELECT given.*, %(source)s
FROM unnest(
    %(provider)s::text[], %(domain)s::text[], %(provider_event_id)s::text[], %(day)s::date[], %(event_type)s::text[],
    %(severity)s::text[], %(reason)s::text[], %(address)s::text[], %(recipient)s::bigint[], %(message)s::bigint[],
    %(batch)s::uuid[], %(raw_payload)s::jsonb[], %(occurred_at)s::timestamptz[]
) AS given
ON CONFLICT DO NOTHING
"""


def record_many(events: Sequence[ProviderEvent], *, source: str) -> int:
    """Write those of many events that are not known; return how many that were."""
    rows = [columns(event) for event in events]
    arrays = {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
    return db.execute(RECORD_MANY, {**arrays, "source": source}) if rows else 0


USED_FOR = "SELECT body_digest FROM webhook_tokens WHERE token = %(token)s"


def used_for(token: str) -> bytes:
    """Return the digest of the body that a token came with, and nothing where the token is unknown."""
    return bytes(db.value(USED_FOR, {"token": token}) or b"")


ATTACH = """
UPDATE email_events SET campaign_recipient_id = %(recipient)s, message_id = %(message)s WHERE id = %(event)s
"""


def attach(event: int, *, recipient: int | None, message: int | None) -> None:
    """Name the mail that an event is really about."""
    db.execute(ATTACH, {"event": event, "recipient": recipient, "message": message})


# Rows come in the order of their ids, so the oldest are found without an index on their time; `after` spares the next
# turn the rows that this one deleted.
PRUNE_EVENTS = """
WITH oldest AS MATERIALIZED (
    SELECT id, received_at FROM email_events WHERE id > %(after)s ORDER BY id LIMIT %(limit)s
), gone AS (
    DELETE FROM email_events AS e USING oldest
    WHERE e.id = oldest.id AND oldest.received_at < statement_timestamp() - %(age)s
    RETURNING e.id
)
SELECT count(*), coalesce(max(id), 0) FROM gone
"""


class Pruned(NamedTuple):
    """How many rows went, and the last of their ids."""

    rows: int
    last: int


def prune_events(*, age: timedelta, after: int, limit: int) -> Pruned:
    """Delete the oldest events that are older than `age`, at most `limit` of them, with ids above `after`."""
    parameters = {"age": age, "after": after, "limit": limit}
    return db.fetch_one(Pruned, PRUNE_EVENTS, parameters) or Pruned(0, 0)


PRUNE_TOKENS = """
DELETE FROM webhook_tokens WHERE token IN (
    SELECT token FROM webhook_tokens WHERE seen_at < statement_timestamp() - %(age)s ORDER BY seen_at LIMIT %(limit)s
)
"""


def prune_tokens(*, age: timedelta, limit: int) -> int:
    """Delete at most `limit` tokens that were used longer than `age` ago; return how many."""
    return db.execute(PRUNE_TOKENS, {"age": age, "limit": limit})


# One look for a page of events: a window that is read again and again costs next to nothing.
KNOWN = """
SELECT w.place
FROM unnest(%(domains)s::text[], %(ids)s::text[], %(days)s::date[], %(types)s::text[])
     WITH ORDINALITY AS w (domain, id, day, type, place)
WHERE EXISTS (
    SELECT FROM email_events AS e
    WHERE e.provider = %(provider)s AND e.domain = w.domain AND e.provider_event_id = w.id AND e.day = w.day
      AND e.event_type = w.type
)
"""


class Place(NamedTuple):
    place: int


def unknown(events: Sequence[ProviderEvent]) -> list[ProviderEvent]:
    """Return the events of one provider that are not recorded yet, in their order."""
    if not events:
        return []
    parameters = {
        "provider": events[0].provider,
        "domains": [event.domain for event in events],
        "ids": [event.event_id for event in events],
        "days": [event.occurred_at.astimezone(UTC).date() for event in events],
        "types": [event.type.value for event in events],
    }
    known = {row.place for row in db.fetch(Place, KNOWN, parameters)}
    return [event for place, event in enumerate(events, start=1) if place not in known]


RECIPIENTS_NAMED = """
SELECT DISTINCT campaign_recipient_id FROM email_events WHERE address = %(address)s AND campaign_recipient_id IS NOT NULL
"""


class RecipientId(NamedTuple):
    id: int


def recipients_named(address: str) -> list[int]:
    """Return the recipients that events about an address were about."""
    return sorted(row.id for row in db.fetch(RecipientId, RECIPIENTS_NAMED, {"address": address}))


ERASE = """
UPDATE email_events
SET address = '', raw_payload = '{}', reason = replace(reason, %(address)s, '(erased)')
WHERE address = %(address)s
"""


def erase(address: str) -> int:
    """Take an address, and what the provider wrote about it, out of events; return how many."""
    return db.execute(ERASE, {"address": address})
