"""Erasing a person for good: what stood against mailing them stays, as a hash under a key that is not in the database.

The hash can't be read back without the key, and not be tried out either. Once somebody brings the same address again,
whoever it was, the refusal stands again before any mail goes out.
"""

import hashlib
from collections.abc import Sequence
from functools import cache

from django.conf import settings

from contacts.models import Contact
from mailkoenig.lib import db

BLOCK = 64


def key() -> dict[str, bytes]:
    """Return the key as the function hmac_sha256 takes it."""
    return pads(settings.ERASURE_KEY)


@cache
def pads(key: str) -> dict[str, bytes]:
    """Return the two halves of a key that the function hmac_sha256 of the database takes (RFC 2104)."""
    block = hashlib.sha256(key.encode()).digest().ljust(BLOCK, b"\0")
    return {
        "inner": bytes(byte ^ 0x36 for byte in block),
        "outer": bytes(byte ^ 0x5C for byte in block),
    }


# A contact whose state has no suppression behind it keeps it all the same.
FORGET = """
WITH gone AS (
    DELETE FROM suppressions WHERE address = %(address)s
    RETURNING scope, reason, created_at, lifted_at
), standing AS (
    SELECT scope, reason, created_at FROM gone WHERE lifted_at IS NULL
    UNION ALL
    SELECT CASE WHEN status = 'unsubscribed' THEN 'marketing' ELSE 'all' END, status, updated_at
    FROM contacts WHERE email = %(address)s AND status <> 'active'
    ORDER BY 1
    LIMIT 1
)
INSERT INTO erased_suppressions (digest, scope, reason, created_at, erased_at)
SELECT hmac_sha256(%(address)s, %(inner)s, %(outer)s), scope, reason, created_at, statement_timestamp() FROM standing
ON CONFLICT (digest) DO NOTHING
"""


def erase(address: str) -> int:
    """Delete a contact and the plain text of what stands against the address; return how many contacts that was."""
    db.execute(FORGET, {"address": address, **key()})
    return Contact.objects.filter(email=address).delete()[1].get("contacts.Contact", 0)


RECALL = """
WITH back AS (
    DELETE FROM erased_suppressions AS e
    USING (SELECT DISTINCT address, hmac_sha256(address, %(inner)s, %(outer)s) AS digest FROM ({given}) AS given (address)) AS g
    WHERE e.digest = g.digest
    RETURNING g.address, e.scope, e.reason, e.created_at
)
INSERT INTO suppressions (address, scope, reason, source, created_at)
SELECT address, scope, reason, 'It stood before the contact was erased.', created_at FROM back
ON CONFLICT (address) WHERE lifted_at IS NULL DO NOTHING
"""
ANY_ERASED = "SELECT EXISTS (SELECT FROM erased_suppressions)"
THESE = "SELECT unnest(%(addresses)s::text[])"
OF_THE_FILE = "SELECT email FROM import_rows WHERE reason IS NULL"


def recall(addresses: Sequence[str]) -> int:
    """Have what stood against addresses before they were erased stand again; return for how many."""
    return recall_from(THESE, {"addresses": list(addresses)})


def recall_of_the_file() -> int:
    """Do the same for the rows of the import that runs now."""
    return recall_from(OF_THE_FILE, {})


def recall_from(given: str, parameters: dict[str, object]) -> int:
    if not db.value(ANY_ERASED):
        return 0
    return db.execute(RECALL.format(given=given), {**parameters, **key()})
