"""Campaigns give way to other mail, which somebody waits for."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# How long after the last message campaigns go on giving way.
FOR = 60.0


class GiveWay:
    """While other mail goes out, a worker's campaign lanes go to the database one at a time; their calls stay side by side.

    Without it a campaign at full speed has a whole batch in every lane at the database, and whoever hands in a receipt waits
    behind all of them.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.until = float("-inf")

    def note_other_mail(self) -> None:
        """Give way from now on, for a minute."""
        self.until = time.monotonic() + FOR

    @contextmanager
    def one_at_a_time(self) -> Iterator[None]:
        """Wait for the other lanes, if there is somebody to give way to."""
        if time.monotonic() >= self.until:
            yield
            return
        with self.lock:
            yield
