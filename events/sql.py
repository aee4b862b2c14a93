"""Recording what the provider says, once, and forgetting it when it is old."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

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
        campaign_recipient_id, batch_id, source, raw_payload, occurred_at
    )
    SELECT
        %(provider)s, %(domain)s, %(provider_event_id)s, %(day)s::date, %(event_type)s, %(severity)s, %(reason)s,
        %(address)s, %(recipient)s::bigint, %(batch)s::uuid, %(source)s, %(raw_payload)s::jsonb,
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
        "batch": event.batch,
        "raw_payload": json.dumps(event.payload, ensure_ascii=False),
        "occurred_at": event.occurred_at,
    }


RECORD_MANY = """
INSERT INTO email_events (
    provider, domain, provider_event_id, day, event_type, severity, reason, address, campaign_recipient_id, batch_id,
    raw_payload, occurred_at, source
)
SELECT given.*, %(source)s
FROM unnest(
    %(provider)s::text[], %(domain)s::text[], %(provider_event_id)s::text[], %(day)s::date[], %(event_type)s::text[],
    %(severity)s::text[], %(reason)s::text[], %(address)s::text[], %(recipient)s::bigint[], %(batch)s::uuid[],
    %(raw_payload)s::jsonb[], %(occurred_at)s::timestamptz[]
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


ATTACH = "UPDATE email_events SET campaign_recipient_id = %(recipient)s WHERE id = %(event)s"


def attach(event: int, *, recipient: int | None) -> None:
    """Name the recipient that an event is really about."""
    db.execute(ATTACH, {"event": event, "recipient": recipient})


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


# Nothing of a domain came back before its first batch, and the smallest plan keeps a log for a day.
ADD_CURSORS = """
INSERT INTO poll_cursors (domain_id, read_to)
SELECT d.id, greatest(
    statement_timestamp() - %(furthest)s,
    (SELECT min(b.claimed_at) FROM send_batches AS b WHERE b.domain_id = d.id)
)
FROM sender_domains AS d
WHERE NOT EXISTS (SELECT FROM poll_cursors AS p WHERE p.domain_id = d.id)
ON CONFLICT DO NOTHING
"""


def add_cursors(*, furthest: timedelta) -> int:
    """Begin to read the logs of new domains: from the first batch on, but no more than `furthest` back."""
    return db.execute(ADD_CURSORS, {"furthest": furthest})


# The clock may have been ahead once; a reading never begins later than it would by the clock as it is now.
TAKE_CURSOR = """
UPDATE poll_cursors AS p
SET lease = %(lease)s, lease_expires_at = statement_timestamp() + %(guard)s,
    position = coalesce(p.position, least(p.read_to, statement_timestamp()) - %(overlap)s),
    began_at = coalesce(p.began_at, statement_timestamp())
FROM sender_domains AS d
WHERE p.domain_id = (
    SELECT domain_id FROM poll_cursors
    WHERE next_at <= statement_timestamp()
      AND (lease_expires_at IS NULL OR lease_expires_at <= statement_timestamp())
    ORDER BY next_at, domain_id LIMIT 1
    FOR UPDATE SKIP LOCKED
) AND d.id = p.domain_id
RETURNING p.lease, d.name, p.position, p.began_at
"""


class Reading(NamedTuple):
    """A domain's log to be read from one moment up to another; `lease` is the right to do so."""

    lease: UUID
    domain: str
    begin: datetime
    end: datetime


def take_cursor(*, lease: UUID, guard: timedelta, overlap: timedelta) -> Reading | None:
    """Take the log that is due longest; nobody else reads it for `guard`."""
    return db.fetch_one(Reading, TAKE_CURSOR, {"lease": lease, "guard": guard, "overlap": overlap})


ADVANCE_CURSOR = """
UPDATE poll_cursors
SET position = %(position)s, lease_expires_at = statement_timestamp() + %(guard)s, failures = 0, finding = ''
WHERE lease = %(lease)s
"""


def advance_cursor(*, lease: UUID, position: datetime, guard: timedelta) -> bool:
    """Note how far the reading has come, and hold it on; False when somebody else has taken it over."""
    return bool(db.execute(ADVANCE_CURSOR, {"lease": lease, "position": position, "guard": guard}))


RELEASE_CURSOR = """
UPDATE poll_cursors SET next_at = statement_timestamp(), lease = NULL, lease_expires_at = NULL WHERE lease = %(lease)s
"""


def release_cursor(lease: UUID) -> int:
    """Let anybody go on with the reading, after the other logs that are due."""
    return db.execute(RELEASE_CURSOR, {"lease": lease})


FINISH_CURSOR = """
UPDATE poll_cursors
SET read_to = began_at, position = NULL, began_at = NULL, next_at = statement_timestamp() + %(after)s,
    lease = NULL, lease_expires_at = NULL, failures = 0, finding = ''
WHERE lease = %(lease)s
"""


def finish_cursor(*, lease: UUID, after: timedelta) -> int:
    """Note that the log was read up to the moment that the reading began; it is read again after a while."""
    return db.execute(FINISH_CURSOR, {"lease": lease, "after": after})


PUT_OFF_CURSOR = """
WITH before AS (SELECT domain_id, finding FROM poll_cursors WHERE lease = %(lease)s FOR UPDATE)
UPDATE poll_cursors AS p
SET next_at = statement_timestamp() + least(%(after)s * power(2, least(p.failures, 10)), greatest(%(after)s, %(longest)s)),
    lease = NULL, lease_expires_at = NULL, failures = p.failures + 1, finding = %(finding)s
FROM before
WHERE p.domain_id = before.domain_id
RETURNING before.finding
"""


def put_off_cursor(*, lease: UUID, finding: str, after: timedelta, longest: timedelta) -> str | None:
    """Note why the log could not be read, and try again later, each time after longer; return what was noted before."""
    parameters = {"lease": lease, "finding": finding, "after": after, "longest": longest}
    before: str | None = db.value(PUT_OFF_CURSOR, parameters)
    return before


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
