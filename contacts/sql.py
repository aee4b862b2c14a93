"""The statements about permission: who may be mailed, and what stops it.

Each locks the suppression before the contact, so that two of them never wait for each other.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mailkoenig.lib import db


class Standing(NamedTuple):
    """A suppression that stands."""

    reason: str
    scope: str


class Person(NamedTuple):
    """Whose unsubscribe link it is, and what stands against mailing them."""

    address: str
    status: str
    reason: str | None


# `state(…)` orders both contact states and reasons: later in the array is stronger. The contact is written also
# where it seems to have the state already: only then does the statement wait for, and see, a lift under way.
SUPPRESS = """
WITH strength AS (
    SELECT ARRAY['manual', 'unsubscribed', 'bounced', 'complained'] AS reasons,
           ARRAY['active', 'unsubscribed', 'bounced', 'complained'] AS states
), standing AS (
    INSERT INTO suppressions AS s (address, scope, reason, source, event)
    VALUES (%(address)s, %(scope)s, %(reason)s, %(source)s, %(event)s)
    ON CONFLICT (address) WHERE lifted_at IS NULL DO UPDATE SET
        scope = CASE WHEN excluded.scope = 'all' THEN 'all' ELSE s.scope END,
        (reason, source, event) = (
            SELECT CASE WHEN is_stronger THEN excluded.reason ELSE s.reason END,
                   CASE WHEN is_stronger THEN excluded.source ELSE s.source END,
                   CASE WHEN is_stronger THEN excluded.event ELSE s.event END
            FROM (
                SELECT array_position(reasons, excluded.reason::text) > array_position(reasons, s.reason::text)
                       AS is_stronger FROM strength
            ) AS compared
        )
    WHERE (s.scope = 'marketing' AND excluded.scope = 'all') OR (
        SELECT array_position(reasons, excluded.reason::text) > array_position(reasons, s.reason::text)
        FROM strength
    )
    RETURNING 1
), shadow AS (
    UPDATE contacts AS c
    SET status = CASE
            WHEN array_position(states, c.status::text) >= array_position(states, %(status)s)
            THEN c.status ELSE %(status)s
        END,
        updated_at = statement_timestamp()
    FROM strength
    WHERE c.email = %(address)s AND (SELECT count(*) FROM standing) >= 0
    RETURNING 1
)
SELECT (SELECT count(*) FROM standing) > 0, (SELECT count(*) FROM shadow)
"""


def suppress(*, address: str, reason: str, scope: str, status: str, source: str, event: str) -> bool:
    """Make or strengthen the suppression of `address` and its contact's state; say whether the suppression changed."""
    return bool(
        db.value(
            SUPPRESS,
            {
                "address": address,
                "reason": reason,
                "scope": scope,
                "status": status,
                "source": source,
                "event": event,
            },
        )
    )


# A contact whose state has no suppression behind it (made by hand) leaves the same trace when it is brought back.
LIFT = """
WITH lifted AS (
    UPDATE suppressions SET lifted_at = statement_timestamp(), lifted_by = %(by)s
    WHERE address = %(address)s AND lifted_at IS NULL AND reason = ANY(%(reasons)s)
    RETURNING address
), traced AS (
    INSERT INTO suppressions (address, scope, reason, source, lifted_at, lifted_by)
    SELECT c.email, CASE WHEN c.status = 'unsubscribed' THEN 'marketing' ELSE 'all' END, c.status,
           'the contact''s status', statement_timestamp(), %(by)s
    FROM contacts AS c
    WHERE c.email = %(address)s AND c.status = ANY(%(reasons)s)
      AND NOT EXISTS (SELECT FROM suppressions AS s WHERE s.address = c.email AND s.lifted_at IS NULL)
    RETURNING address
), found AS (
    SELECT address FROM lifted UNION ALL SELECT address FROM traced
), shadow AS (
    UPDATE contacts AS c SET status = 'active', updated_at = statement_timestamp()
    FROM found WHERE c.email = found.address
    RETURNING 1
)
SELECT (SELECT count(*) FROM found) > 0, (SELECT count(*) FROM shadow)
"""


def lift(*, address: str, reasons: Sequence[str], by: str) -> bool:
    """End the suppression of `address` where it stands for one of `reasons`; say whether one did."""
    return bool(db.value(LIFT, {"address": address, "reasons": list(reasons), "by": by}))


SHADOW = """
UPDATE contacts AS c
SET status = CASE s.reason WHEN 'manual' THEN 'unsubscribed' ELSE s.reason END, updated_at = statement_timestamp()
FROM suppressions AS s
WHERE s.address = c.email AND s.lifted_at IS NULL
  AND c.status = 'active' AND c.email = ANY(%(addresses)s)
"""


def shadow(addresses: Sequence[str]) -> int:
    """Give contacts that are active against a standing suppression the state of it."""
    return db.execute(SHADOW, {"addresses": list(addresses)})


# The index on the suppressions' time does not exist: they are few beside contacts, and this runs once an import.
SHADOW_SINCE = """
UPDATE contacts AS c
SET status = CASE s.reason WHEN 'manual' THEN 'unsubscribed' ELSE s.reason END, updated_at = statement_timestamp()
FROM suppressions AS s
WHERE s.address = c.email AND s.lifted_at IS NULL AND s.created_at >= %(moment)s AND c.status = 'active'
"""


def shadow_since(moment: object) -> int:
    """Do the same for every suppression made since `moment`: an import may have passed it by."""
    return db.execute(SHADOW_SINCE, {"moment": moment})


STANDING = "SELECT reason, scope FROM suppressions WHERE address = %(address)s AND lifted_at IS NULL"


def standing(address: str) -> Standing | None:
    """Return what stands against mailing `address`; None where nothing does."""
    return db.fetch_one(Standing, STANDING, {"address": address})


PERSON = """
SELECT c.email, c.status, s.reason
FROM contacts AS c LEFT JOIN suppressions AS s ON s.address = c.email AND s.lifted_at IS NULL
WHERE c.unsubscribe_token = %(token)s
"""


def person(token: str) -> Person | None:
    """Return the person whose unsubscribe token it is."""
    return db.fetch_one(Person, PERSON, {"token": token})


ELIGIBLE = """
SELECT c.id FROM contacts AS c
WHERE c.id = ANY(%(ids)s) AND c.status = 'active'
  AND NOT EXISTS (SELECT FROM suppressions AS s WHERE s.address = c.email AND s.lifted_at IS NULL)
"""


class Eligible(NamedTuple):
    """One contact that may get marketing."""

    contact: int


def eligible(ids: Sequence[int]) -> set[int]:
    """Return those of the contacts `ids` that may get marketing now: active, and nothing stands against the address."""
    return {row.contact for row in db.fetch(Eligible, ELIGIBLE, {"ids": list(ids)})}


MEMBERS = """
SELECT l.id, (
    SELECT count(*) FROM (
        SELECT FROM contact_list_members AS m WHERE m.list_id = l.id LIMIT %(most)s + 1
    ) AS counted
)
FROM unnest(%(lists)s::bigint[]) AS l (id)
"""


class Members(NamedTuple):
    """How many contacts are on a list, counted no further than asked."""

    list: int
    counted: int


def members(lists: Sequence[int], *, most: int) -> dict[int, int]:
    """Count the contacts of each list, up to `most` + 1."""
    return dict(db.fetch(Members, MEMBERS, {"lists": list(lists), "most": most}))


# In the order of their addresses, so that two of these never wait for each other.
ADD = """
INSERT INTO contacts (email)
SELECT address FROM unnest(%(addresses)s::text[]) AS given (address) ORDER BY address
ON CONFLICT (email) DO NOTHING
"""


def add(addresses: Sequence[str]) -> int:
    """Make contacts of those addresses that are none yet; return how many that were."""
    return db.execute(ADD, {"addresses": list(addresses)})


ENLIST = """
INSERT INTO contact_list_members (list_id, contact_id, created_at)
SELECT %(list)s, c.id, statement_timestamp() FROM contacts AS c WHERE c.email = ANY(%(addresses)s) ORDER BY c.id
ON CONFLICT DO NOTHING
"""


def enlist(addresses: Sequence[str], *, list_id: int) -> int:
    """Put contacts on a list; return how many were not on it."""
    return db.execute(ENLIST, {"addresses": list(addresses), "list": list_id})


STRIKE = """
DELETE FROM contact_list_members AS m USING contacts AS c
WHERE m.list_id = %(list)s AND m.contact_id = c.id AND c.email = ANY(%(addresses)s)
"""


def strike(addresses: Sequence[str], *, list_id: int) -> int:
    """Take contacts off a list; return how many were on it."""
    return db.execute(STRIKE, {"addresses": list(addresses), "list": list_id})
