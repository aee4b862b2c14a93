"""A sender that stops at the points where a real one may be killed or overtaken, and goes on when it is told to."""

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from django.db import connection, connections

PATIENCE = 30


class Killed(BaseException):
    """Ends the thread of a lane that was given up."""


class Lane:
    """Runs `work` in a thread on the caller's own connection; only one of the two ever runs."""

    def __init__(self, work: Callable[["Lane"], object]) -> None:
        self.work = work
        self.at = "start"
        self.about: Any = None
        self.orders: SimpleQueue[Any] = SimpleQueue()
        self.reports: SimpleQueue[BaseException | None] = SimpleQueue()
        self.depth = len(connection.savepoint_ids)
        self.thread = threading.Thread(
            target=self.run, args=(connections["default"],), name="chaos", daemon=True
        )
        connections["default"].inc_thread_sharing()
        self.thread.start()

    def run(self, shared: Any) -> None:
        """Work in this thread; report when it stops, for good or for a while."""
        connections["default"] = shared
        error: BaseException | None = None
        with suppress(Killed):
            try:
                if self.orders.get() is not Killed:
                    self.work(self)
            except Killed:
                raise
            except BaseException as caught:
                error = caught
        self.at = "over"
        del connections["default"]
        self.reports.put(error)

    def pause(self, at: str, about: Any = None) -> Any:
        """Stop in this thread; return what the lane is told when it goes on."""
        assert len(connection.savepoint_ids) == self.depth, f"a transaction is open while it is {at}"
        self.at, self.about = at, about
        self.reports.put(None)
        order = self.orders.get()
        if order is Killed:
            raise Killed
        return order

    def go_on(self, order: Any = None) -> None:
        """Let the lane run to its next stop; raise what went wrong in it."""
        self.orders.put(order)
        error = self.reports.get(timeout=PATIENCE)
        if error is not None:
            raise error

    def end(self) -> None:
        """Give the thread up."""
        if self.at != "over":
            self.orders.put(Killed)
        self.thread.join(PATIENCE)
        connections["default"].dec_thread_sharing()
