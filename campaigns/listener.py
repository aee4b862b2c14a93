"""Wakes the lanes of a worker when PostgreSQL says that something has become ready."""

import logging
import threading
from collections.abc import Callable

from django.db import connection

from campaigns.lanes import DATABASE_AWAY
from mailkoenig.lib import db

logger = logging.getLogger(__name__)

LONGEST_WAIT = 1.0


class Listener:
    """Listens on a connection of its own; behind a pooler, where nothing would be heard, workers poll instead."""

    def __init__(self, *, wake: Callable[[str], None], stop: threading.Event) -> None:
        self.wake = wake
        self.stop = stop
        self.is_listening = False

    def run(self) -> None:
        """Listen until told to stop."""
        try:
            while not self.stop.is_set():
                try:
                    if not self.listen():
                        logger.info("a pooler stands before the database: polling for new mail")
                        return
                except DATABASE_AWAY as error:
                    self.is_listening = False
                    connection.close()
                    logger.warning("not woken for a while", extra={"error": type(error).__name__})
                    self.stop.wait(LONGEST_WAIT)
        finally:
            self.is_listening = False
            connection.close()

    def listen(self) -> bool:
        """Hand on what is heard until told to stop; False where nothing can be heard."""
        connection.ensure_connection()
        raw = connection.connection
        with connection.wrap_database_errors:
            if not db.is_direct(raw):
                return False
            raw.execute("LISTEN mailkoenig")
            self.is_listening = True
            # What became ready while nobody listened.
            self.wake("")
            while not self.stop.is_set():
                for heard in raw.notifies(timeout=LONGEST_WAIT):
                    self.wake(heard.payload)
                    if self.stop.is_set():
                        break
        return True
