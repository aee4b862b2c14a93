"""How many webhooks came in and why some were refused, counted in the process and written down now and then.

A flood of bad signatures must cost the database nothing. What a killed process had not written is lost: a few seconds.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction

from campaigns.sql import tallies

logger = logging.getLogger(__name__)

TAKEN, REFUSED = "webhook:", "refused:"


class Counts:
    """Counts by name; the first of a while starts the clock, at whose end all of them are written at once."""

    def __init__(self, *, every: Callable[[], float]) -> None:
        self.every = every
        self.lock = threading.Lock()
        self.counted: Counter[str] = Counter()
        self.timer: threading.Timer | None = None

    def add(self, name: str) -> None:
        """Count one."""
        with self.lock:
            self.counted[name] += 1
            if self.timer is None:
                self.timer = threading.Timer(self.every(), self.run)
                self.timer.daemon = True
                self.timer.start()

    def run(self) -> None:
        """Write in a thread of our own; while the database is away the counts are kept for the next time."""
        with self.lock:
            self.timer = None
        try:
            self.write()
        except (OperationalError, InterfaceError) as error:
            logger.warning("webhook counts not written yet", extra={"error": type(error).__name__})
        finally:
            connection.close()

    def write(self) -> None:
        """Write what was counted so far."""
        with self.lock:
            taken, self.counted = self.counted, Counter()
        try:
            with transaction.atomic():
                # Always in the same order, as other processes write the same rows.
                for name, times in sorted(taken.items()):
                    tallies.count(name, times=times)
        except BaseException:
            with self.lock:
                self.counted.update(taken)
            raise


counts = Counts(every=lambda: settings.WEBHOOK_COUNT_EVERY)


def took(kind: str) -> None:
    """Count a webhook that was taken, by its type."""
    counts.add(f"{TAKEN}{kind}")


def refused(reason: str) -> None:
    """Count a webhook that was refused, by a short word for why."""
    counts.add(f"{REFUSED}{reason}")
