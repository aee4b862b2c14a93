"""Fixing who gets a campaign: chunk by chunk, each committed, so that a crash in the middle resumes."""

from typing import NamedTuple

from mailkoenig.lib import db

CHUNK = 20_000
# From this many people on the planner is told about them at once.
WORTH_ANALYZING = 5_000

NEXT = """
SELECT id, snapshot_list, snapshot_contact
FROM campaigns
WHERE status = 'sending' AND snapshot_finished_at IS NULL
ORDER BY snapshot_contact, id
LIMIT 1
FOR NO KEY UPDATE SKIP LOCKED
"""


class Unfinished(NamedTuple):
    """A campaign whose snapshot is not complete, and how far it came."""

    campaign: int
    list: int
    contact: int


def unfinished() -> Unfinished | None:
    """Lock and return a campaign whose snapshot has to go on; the lock ends also when we freeze."""
    db.end_if_idle()
    return db.fetch_one(Unfinished, NEXT)


LAST = """
SELECT count(*), max(contact_id) FROM (
    SELECT contact_id FROM contact_list_members
    WHERE list_id = %(list)s AND contact_id > %(after)s
    ORDER BY contact_id LIMIT %(limit)s
) AS member
"""
# Everybody of a stretch of one list who is eligible and not there yet: a second list may hold the same people. Nobody else
# adds to this campaign (it is locked), so that looking is enough; ON CONFLICT costs a fifth more. All sides are bounded, or
# each chunk would read the contacts from the first.
TAKE = """
INSERT INTO campaign_recipients (campaign_id, contact_id, email, name, status, attempts, next_attempt_at)
SELECT %(campaign)s, c.id, c.email, c.name, 'pending', 0, statement_timestamp()
FROM contact_list_members AS m JOIN contacts AS c ON c.id = m.contact_id
WHERE m.list_id = %(list)s AND m.contact_id > %(after)s AND m.contact_id <= %(last)s
  AND c.id > %(after)s AND c.id <= %(last)s AND c.status = 'active'
  AND NOT EXISTS (SELECT FROM suppressions AS s WHERE s.address = c.email AND s.lifted_at IS NULL)
  AND NOT EXISTS (
    SELECT FROM campaign_recipients AS r
    WHERE r.campaign_id = %(campaign)s AND r.contact_id = c.id AND r.contact_id > %(after)s AND r.contact_id <= %(last)s
  )
ORDER BY c.id
"""


# Where autovacuum looked while these tables were being filled it saw none of it, and TAKE is planned for a handful: each
# member beside each contact, minutes for one chunk.
ANALYZE_AUDIENCE = """
ANALYZE contacts, contact_list_members, suppressions
"""


class Last(NamedTuple):
    """How many members a stretch of a list has, and the last of them."""

    members: int
    contact: int | None


class Chunk(NamedTuple):
    """How many members were looked at, the last of them, and how many became recipients."""

    members: int
    last: int | None
    taken: int


def take(*, campaign: int, list_id: int, after: int, limit: int = CHUNK) -> Chunk:
    """Make the next members of a list recipients of a locked campaign, each at most once."""
    parameters = {"campaign": campaign, "list": list_id, "after": after, "limit": limit}
    last = db.fetch_one(Last, LAST, parameters) or Last(0, None)
    if after == 0 and last.members >= WORTH_ANALYZING:
        db.execute(ANALYZE_AUDIENCE)
    taken = db.execute(TAKE, {**parameters, "last": last.contact}) if last.members else 0
    return Chunk(last.members, last.contact, taken)


NEXT_LIST = """
SELECT min(contactlist_id) FROM campaign_lists WHERE campaign_id = %(campaign)s AND contactlist_id > %(after)s
"""


def next_list(*, campaign: int, after: int) -> int | None:
    """Return the list of a campaign that follows the one with id `after`."""
    found: int | None = db.value(NEXT_LIST, {"campaign": campaign, "after": after})
    return found


ADVANCE = """
UPDATE campaigns SET snapshot_list = %(list)s, snapshot_contact = %(contact)s WHERE id = %(campaign)s
"""


def advance(*, campaign: int, list_id: int, contact: int) -> int:
    """Note how far the snapshot came."""
    return db.execute(ADVANCE, {"campaign": campaign, "list": list_id, "contact": contact})


FINISH = """
UPDATE campaigns SET snapshot_finished_at = statement_timestamp() WHERE id = %(campaign)s
"""


def finish(campaign: int) -> int:
    """Note that the snapshot is complete."""
    return db.execute(FINISH, {"campaign": campaign})


ANALYZE = """
ANALYZE campaign_recipients
"""


def analyze() -> None:
    """Tell the planner about many new rows; otherwise it believes for minutes that nobody is ready."""
    db.execute(ANALYZE)
