"""The database's time in processes whose own clock may be wrong: leases, schedules and webhooks all go by one clock."""

import logging
import threading
import time
from datetime import UTC, datetime, timedelta

from mailkoenig.lib import db

logger = logging.getLogger(__name__)

KEPT_FOR = 60.0
WORTH_A_WARNING = timedelta(seconds=5)


class DatabaseClock:
    """Keeps how far our clock is from the database's, measured at most once a minute."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.offset = timedelta(0)
        self.measured_at = float("-inf")

    def now(self) -> datetime:
        """Return the database's time, as near as the way there and back; raises what the database raises."""
        with self.lock:
            if time.monotonic() - self.measured_at >= KEPT_FOR:
                self.measure()
            return datetime.now(UTC) + self.offset

    def measure(self) -> None:
        """Ask the database, and say so where the clocks disagree."""
        before = datetime.now(UTC)
        there = db.now()
        after = datetime.now(UTC)
        self.offset = there - (before + (after - before) / 2)
        self.measured_at = time.monotonic()
        if abs(self.offset) > WORTH_A_WARNING:
            logger.warning(
                "this host's clock disagrees with the database's, which counts: set it right",
                extra={"behind_by": f"{self.offset.total_seconds():.0f} s"},
            )


clock = DatabaseClock()
