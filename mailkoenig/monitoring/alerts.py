"""Alerts: look at what is wrong, write it down, and tell it once when it begins and once when it is over."""

import logging
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction

from campaigns import guard
from mailkoenig.monitoring import overview, sql, telling
from mailkoenig.monitoring.rules import MANY, Finding, findings

__all__ = ["Finding", "check", "findings", "forget"]

logger = logging.getLogger(__name__)

# What comes back so soon after it was over is told again only when it stays.
QUIET = timedelta(minutes=5)
KEEP = timedelta(days=90)


def check(*, notify: bool) -> list[Finding]:
    """Return everything that is wrong now; with `notify` write it down and tell what is due to be told."""
    guard.refresh()
    if not notify:
        return findings(overview.look(most=MANY))
    with transaction.atomic():
        # Whoever looked earlier must not write later. While somebody else is at it, there is nothing to write.
        is_ours = sql.lock()
        found = findings(overview.look(most=MANY))
        if is_ours:
            record(found)
    telling.tell()
    return found


def record(found: Sequence[Finding]) -> None:
    """Write down what has begun and what is over."""
    rows = [finding._asdict() for finding in found]
    for alert in sql.begin(rows, ways=telling.ways(), quiet=QUIET):
        logger.warning(
            "alert began", extra={"kind": alert.kind, "about": alert.subject, "why": alert.summary}
        )
    for alert in sql.clear(rows):
        logger.warning("alert is over", extra={"kind": alert.kind, "about": alert.subject})


def forget() -> int:
    """Delete what was over long ago."""
    return sql.forget(age=KEEP)
