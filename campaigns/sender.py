"""The worker: housekeeping in one thread, calls in a few others, each with its own connections."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence

from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections, connection

from campaigns import housekeeping, policy
from campaigns.delivery import Delivery
from campaigns.installation import Gate
from campaigns.sql import queue
from mailkoenig.lib.database_clock import clock
from mailkoenig.providers.mailgun.client import MailgunClient
from mailkoenig.providers.types import Provider

logger = logging.getLogger(__name__)

DATABASE_AWAY = (OperationalError, InterfaceError)
# After the grace, how long threads get to note what became of the calls that were cut.
LAST_MOMENT = 3.0


class Turns:
    """Campaigns take turns, one batch each, so that a large one can't starve a small one."""

    def __init__(self, *, fresh_for: float, look: Callable[[], list[int]]) -> None:
        self.look = look
        self.lock = threading.Lock()
        self.campaigns: list[int] = []
        self.position = 0
        self.fresh_for = fresh_for
        self.looked_at = float("-inf")

    def next(self) -> int | None:
        """Return the campaign whose turn it is; None when nobody waits. Looks at the database once a while only."""
        with self.lock:
            if time.monotonic() - self.looked_at >= self.fresh_for:
                self.campaigns = self.look()
                self.looked_at = time.monotonic()
            if not self.campaigns:
                return None
            self.position = (self.position + 1) % len(self.campaigns)
            return self.campaigns[self.position]

    def drop(self, campaign: int) -> None:
        """Leave out a campaign that had nobody to claim, until the next look."""
        with self.lock:
            if campaign in self.campaigns:
                self.campaigns.remove(campaign)

    def look_again_if_empty(self) -> None:
        """Look at the database at the next turn: a call has ended, so its stream has room again."""
        if not self.campaigns:
            self.look_again()

    def look_again(self) -> None:
        """Look at the database at the next turn."""
        self.looked_at = float("-inf")


class Sender:
    """Works the queue until `stop` is set; `abort` ends even the calls that are open."""

    def __init__(
        self,
        *,
        worker: str,
        provider: Callable[[], Provider] = MailgunClient,
        concurrency: int | None = None,
        poll: float | None = None,
        chores: Sequence[Callable[[], bool]] = (),
        streams: Collection[str] = (),
    ) -> None:
        self.worker = worker
        self.provider = provider
        self.concurrency = concurrency or settings.SENDER_CONCURRENCY
        self.poll = poll or settings.SENDER_POLL
        self.gate = Gate()
        self.turns = Turns(fresh_for=self.poll, look=self.ready)
        self.chores = chores
        self.streams = streams
        self.stop = threading.Event()
        self.abort = threading.Event()
        self.providers: list[Provider] = []

    def ready(self) -> list[int]:
        """Return the campaigns that this worker may send something of now."""
        serves_campaigns = not self.streams or "campaigns" in self.streams
        return queue.ready() if serves_campaigns and not self.gate.reason() else []

    def delivery(self) -> Delivery:
        """Return what one thread sends with."""
        provider = self.provider()
        self.providers.append(provider)
        return Delivery(
            provider=provider, worker=self.worker, persist=self.persist, is_stopping=self.stop.is_set
        )

    def turn(self, delivery: Delivery) -> bool:
        """Do one round: chores and housekeeping, then one batch of each campaign that waits; False when idle."""
        # Chores go on while nothing may be sent: they find out what was.
        busy = False
        for chore in self.chores:
            busy |= chore()
        if self.gate.reason():
            return busy
        busy |= housekeeping.turn()
        for campaign in self.ready():
            busy |= delivery.send_one(campaign)
        return busy | housekeeping.complete()

    def run_once(self) -> None:
        """Work until nothing is due."""
        delivery = self.delivery()
        while not self.stop.is_set() and self.turn(delivery):
            pass

    def run(self) -> None:
        """Work until told to stop, then finish what is open and give back what was not begun."""
        lanes = [
            threading.Thread(target=self.lane, name=f"lane-{n}", daemon=True) for n in range(self.concurrency)
        ]
        chores = [
            threading.Thread(target=self.ask, args=(chore,), name="chore", daemon=True)
            for chore in self.chores
        ]
        for thread in (*lanes, *chores):
            thread.start()
        self.repeat(self.keep_house)
        self.finish(lanes)
        for thread in chores:
            # It may be asking the provider; stopping anywhere loses nothing, so nobody waits for the answer.
            thread.join(0.5)

    def keep_house(self) -> bool:
        """Do one round of housekeeping; people who have just become ready are looked for at once."""
        clock.now()  # says in the log where ours is wrong; nothing here goes by it
        if self.gate.reason():
            return False
        busy = housekeeping.turn()
        if busy:
            self.turns.look_again()
        return busy

    def lane(self) -> None:
        """Send batch after batch until told to stop."""
        delivery = self.delivery()
        try:
            self.repeat(lambda: self.send_next(delivery))
        finally:
            delivery.provider.close()
            connection.close()

    def ask(self, chore: Callable[[], bool]) -> None:
        """Do a chore again and again until told to stop."""
        try:
            self.repeat(chore)
        finally:
            connection.close()

    def send_next(self, delivery: Delivery) -> bool:
        """Send one batch of the campaign whose turn it is; False when nobody waits."""
        campaign = self.turns.next()
        if campaign is None:
            return False
        if delivery.send_one(campaign):
            self.turns.look_again_if_empty()
        else:
            self.turns.drop(campaign)
        return True

    def repeat(self, step: Callable[[], bool]) -> None:
        """Call `step` until told to stop; rest when it had nothing to do, and longer each time that it fails."""
        failures = 0
        while not self.stop.is_set():
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
                # The outermost turn: whatever it was, the other campaigns go on.
                failures += 1
                connection.close()
                logger.exception("turn failed")
                busy = False
            if not busy:
                self.stop.wait(min(self.poll * max(failures, 1), 30))

    def persist(self, write: Callable[[], object]) -> object:
        """Run a transaction until the database takes it: what a provider has answered must not be lost."""
        failures = 0
        while True:
            try:
                return write()
            except DATABASE_AWAY as error:
                failures += 1
                connection.close()
                logger.warning(
                    "outcome not written yet", extra={"error": type(error).__name__, "failures": failures}
                )
                if self.abort.wait(min(policy.backoff(failures, dice=0).total_seconds() / 10, 10)):
                    raise

    def finish(self, lanes: list[threading.Thread]) -> None:
        """Wait for open calls within the grace, then cut them; their outcome is noted as unknown."""
        deadline = time.monotonic() + settings.SENDER_GRACE
        while (
            any(lane.is_alive() for lane in lanes) and time.monotonic() < deadline and not self.abort.is_set()
        ):
            self.abort.wait(0.05)
        if any(lane.is_alive() for lane in lanes):
            logger.warning("calls cut at the end of the grace")
            for provider in self.providers:
                provider.close()
            for lane in lanes:
                lane.join(LAST_MOMENT)
            self.abort.set()
        connection.close()
