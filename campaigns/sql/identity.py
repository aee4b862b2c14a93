"""Which server this database lives on, and how far its workers had come."""

from typing import NamedTuple

from mailkoenig.lib import db

# Another cluster, another database in it, or another timeline (a restore, a promoted standby) is another server.
SERVER = """
SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || (SELECT timeline_id FROM pg_control_checkpoint())
       || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())
"""
# Where the role may not read the control file.
DATABASE = """
SELECT 'database/' || oid FROM pg_database WHERE datname = current_database()
"""
MAY_READ = """
SELECT has_function_privilege('pg_control_system()', 'execute') AND has_function_privilege('pg_control_checkpoint()', 'execute')
"""


def server() -> str:
    """Return the identity of the server, as far as our role may see it."""
    return str(db.value(SERVER if db.value(MAY_READ) else DATABASE))


FIND = """
SELECT server, beats, held_reason FROM installation WHERE id = 1
"""


class Known(NamedTuple):
    """What the database says of itself."""

    server: str
    beats: int
    held_reason: str


def known() -> Known | None:
    """Return the row; None before the first start."""
    return db.fetch_one(Known, FIND)


FIRST = """
INSERT INTO installation (id, server, beats, confirmed_by) VALUES (1, %(server)s, 0, 'the first start')
ON CONFLICT (id) DO NOTHING
"""


def first_start(server: str) -> int:
    """Note the server at the first start ever; 0 where somebody was quicker."""
    return db.execute(FIRST, {"server": server})


BEAT = """
UPDATE installation SET beats = beats + 1 WHERE id = 1 AND held_reason = '' RETURNING beats
"""


def beat() -> int | None:
    """Count up; None where nothing may be sent."""
    beats: int | None = db.value(BEAT)
    return beats


HOLD = """
UPDATE installation SET held_reason = %(reason)s WHERE id = 1
"""


def hold(reason: str) -> int:
    """Stop all sending until a person confirms."""
    return db.execute(HOLD, {"reason": reason})


CONFIRM = """
UPDATE installation
SET server = %(server)s, beats = greatest(beats, %(beats)s) + 1, held_reason = '', confirmed_by = %(by)s,
    confirmed_at = statement_timestamp()
WHERE id = 1
RETURNING beats
"""


def confirm(*, server: str, beats: int, by: str) -> int:
    """Let sending go on from here; return the new count."""
    return int(db.value(CONFIRM, {"server": server, "beats": beats, "by": by}) or 0)


# Events of mail that this database has forgotten still name its campaigns, recipients and messages; no new row may take their ids.
SKIP_IDS = """
SELECT setval(pg_get_serial_sequence('campaigns', 'id'), nextval(pg_get_serial_sequence('campaigns', 'id')) + 1000),
       setval(pg_get_serial_sequence('campaign_recipients', 'id'),
              nextval(pg_get_serial_sequence('campaign_recipients', 'id')) + 1000000000),
       setval(pg_get_serial_sequence('email_jobs', 'id'),
              nextval(pg_get_serial_sequence('email_jobs', 'id')) + 1000000000)
"""


def skip_ids() -> None:
    """Leave out the ids that may have been given to rows since the backup."""
    db.execute(SKIP_IDS)
