"""The threads that serve one stream, and whose turn it is."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from django.db import InterfaceError, OperationalError, close_old_connections, connection

from campaigns.delivery import Delivery
from campaigns.mail import Turn

logger = logging.getLogger(__name__)

DATABASE_AWAY = (OperationalError, InterfaceError)
# One idle lane of a stream looks for work; the others give their connections back after so long and rest until they are woken.
IDLE_CONNECTION = 10.0
LONGEST_REST = 60.0


class Bell:
    """Wakes whoever rests. A ring while nobody rests is not lost: who comes next does not rest then."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.rings = 0

    def ring(self) -> None:
        """Wake one; if nobody rests, the next who would."""
        with self.condition:
            self.rings += 1
            self.condition.notify()

    def ring_out(self) -> None:
        """Wake everybody."""
        with self.condition:
            self.rings += 1
            self.condition.notify_all()

    def rest(self, seconds: float, *, heard: int) -> None:
        """Rest until rung, at most for so long; not at all if it was rung since `heard` rings."""
        with self.condition:
            if self.rings == heard:
                self.condition.wait(seconds)


class Turns:
    """Campaigns take turns, one batch each, so that a large one can't starve a small one; so do domains of one stream."""

    def __init__(self, *, fresh_for: Callable[[], float], look: Callable[[], Sequence[Turn]]) -> None:
        self.look = look
        self.lock = threading.Lock()
        self.waiting: list[Turn] = []
        self.position = 0
        self.fresh_for = fresh_for
        self.looked_at = float("-inf")

    def next(self) -> Turn | None:
        """Return whose turn it is; None when nobody waits. Looks at the database once a while only."""
        with self.lock:
            if time.monotonic() - self.looked_at >= self.fresh_for():
                # A wish that comes while we look is for the look after this one.
                self.looked_at = time.monotonic()
                self.waiting = list(self.look())
            if not self.waiting:
                return None
            self.position = (self.position + 1) % len(self.waiting)
            return self.waiting[self.position]

    def drop(self, turn: Turn) -> None:
        """Leave out one that had nothing to claim, until the next look."""
        with self.lock:
            if turn in self.waiting:
                self.waiting.remove(turn)

    def look_again_if_empty(self) -> None:
        """Look at the database at the next turn: a call has ended, so its stream has room again."""
        if not self.waiting:
            self.look_again()

    def look_again(self) -> None:
        """Look at the database at the next turn."""
        self.looked_at = float("-inf")


class Lanes:
    """One stream's threads, each with a connection to the database and one to the provider while it has work."""

    def __init__(
        self,
        stream: str,
        *,
        look: Callable[[], Sequence[Turn]],
        delivery: Callable[[], Delivery],
        poll: Callable[[], float],
        stop: threading.Event,
    ) -> None:
        self.stream = stream
        self.delivery = delivery
        self.poll = poll
        self.stop = stop
        self.bell = Bell()
        self.turns = Turns(fresh_for=poll, look=look)
        self.wanted = 0
        self.threads: list[threading.Thread] = []
        self.busy: dict[str, float] = {}
        self.scout: int | None = None

    def want(self, number: int) -> None:
        """Have so many threads from now on; those too many end after what they are doing."""
        self.wanted = number
        self.threads = [thread for thread in self.threads if thread.is_alive()]
        running = {thread.name for thread in self.threads}
        for index in range(number):
            name = f"{self.stream}-{index}"
            if name not in running:
                thread = threading.Thread(target=self.lane, args=(index,), name=name, daemon=True)
                self.threads.append(thread)
                thread.start()

    def wake(self) -> None:
        """Look at once: something has become ready."""
        self.turns.look_again()
        self.bell.ring()

    def lane(self, index: int) -> None:
        """Send batch after batch until told to stop or no longer wanted."""
        delivery = self.delivery()
        try:
            repeat(
                lambda: self.send_next(delivery, index),
                until=lambda: self.stop.is_set() or index >= self.wanted,
                bell=self.bell,
                poll=lambda: self.rest_of(index),
                keeps_connection=lambda: self.scout == index,
            )
        finally:
            self.hand_over(index)
            delivery.provider.close()
            connection.close()

    def rest_of(self, index: int) -> float:
        """Return how long an idle lane rests: until the next look where it is the one that looks."""
        if self.scout is None:
            self.scout = index
        return self.poll() if self.scout == index else LONGEST_REST

    def hand_over(self, index: int) -> None:
        """Have another lane look for work, if this one did."""
        if self.scout == index:
            self.scout = None
            self.bell.ring()

    def send_next(self, delivery: Delivery, index: int) -> bool:
        """Send one batch of whoever's turn it is; False when nobody waits."""
        turn = self.turns.next()
        if turn is None:
            return False
        self.hand_over(index)
        me = threading.current_thread().name
        self.busy[me] = time.monotonic()
        try:
            if delivery.send_one(turn):
                self.turns.look_again_if_empty()
                # Whatever else was found in the same look, another lane may take.
                self.bell.ring()
            else:
                self.turns.drop(turn)
        finally:
            self.busy.pop(me, None)
        return True


def repeat(
    step: Callable[[], bool],
    *,
    until: Callable[[], bool],
    bell: Bell,
    poll: Callable[[], float],
    keeps_connection: Callable[[], bool] = lambda: True,
) -> None:
    """Call `step` until told to stop; rest when it had nothing to do, and longer each time that it fails."""
    failures = 0
    worked_at = time.monotonic()
    while not until():
        heard = bell.rings
        try:
            close_old_connections()
            busy = step()
            failures = 0
        except DATABASE_AWAY as error:
            failures += 1
            connection.close()
            logger.warning(
                "database does not answer", extra={"error": type(error).__name__, "failures": failures}
            )
            busy = False
        except Exception:
            # The outermost turn: whatever it was, the others go on.
            failures += 1
            connection.close()
            logger.exception("turn failed")
            busy = False
        if busy:
            worked_at = time.monotonic()
            continue
        if not keeps_connection() and time.monotonic() - worked_at > IDLE_CONNECTION:
            connection.close()
        if not until():
            bell.rest(min(poll() * max(failures, 1), LONGEST_REST), heard=heard)
