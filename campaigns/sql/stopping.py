"""The emergency stop of all sending, which stream_room() looks at."""

from mailkoenig.lib import db

STOP = """
UPDATE installation SET stopped_at = statement_timestamp(), stopped_by = %(by)s, stopped_reason = %(reason)s
WHERE id = 1 AND stopped_at IS NULL
"""


def stop(*, reason: str, by: str) -> int:
    """Let no call begin any more; 0 where that was so already."""
    return db.execute(STOP, {"reason": reason, "by": by})


GO_ON = """
UPDATE installation SET stopped_at = NULL, stopped_by = '', stopped_reason = '' WHERE id = 1 AND stopped_at IS NOT NULL
"""


def go_on() -> int:
    """Let calls begin again; 0 where nothing was stopped."""
    return db.execute(GO_ON)
