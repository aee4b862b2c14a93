"""The worker: housekeeping in one thread, calls in a few others for each stream, each with its own connections."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext, suppress
from datetime import timedelta
from functools import partial
from uuid import uuid4

from django.conf import settings
from django.db import connection

from campaigns import housekeeping, policy
from campaigns.delivery import Delivery
from campaigns.give_way import GiveWay
from campaigns.installation import Gate
from campaigns.lanes import DATABASE_AWAY, Bell, Lanes, repeat
from campaigns.listener import Listener
from campaigns.mail import CampaignTurn, MessageTurn, Turn
from campaigns.sql import messages, queue, workers
from mailkoenig.lib.database_clock import clock
from mailkoenig.providers.mailgun.client import MailgunClient
from mailkoenig.providers.types import Provider

logger = logging.getLogger(__name__)

# After the grace, how long threads get to note what became of the calls that were cut.
LAST_MOMENT = 3.0
LOOK_FOR_SIGNALS = 0.1
CAMPAIGNS = "campaigns"
BEAT_EVERY = 5.0
# Who is woken needs to look less often: only what becomes due by itself is found by looking. So do chores.
WOKEN_LOOKS_LESS = 4
FORGET_AFTER = timedelta(days=1)


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
        self.id = uuid4()
        self.worker = worker
        self.provider = provider
        self.concurrency = concurrency or settings.SENDER_CONCURRENCY
        self.poll = poll or settings.SENDER_POLL
        self.gate = Gate()
        self.chores = chores
        self.streams = sorted(streams)
        self.stop = threading.Event()
        self.abort = threading.Event()
        self.signals = 0
        self.bell = Bell()
        self.give_way = GiveWay()
        self.lanes: dict[str, Lanes] = {}
        self.listener = Listener(wake=self.wake, stop=self.stop)
        self.providers: list[Provider] = []
        self.beaten_at = float("-inf")

    def served(self) -> list[workers.Served]:
        """Return the streams that this worker serves."""
        return [stream for stream in workers.streams() if not self.streams or stream.name in self.streams]

    def ready(self, stream: workers.Served) -> Sequence[Turn]:
        """Return what of a stream may be sent now."""
        if self.gate.reason():
            return []
        if stream.name == CAMPAIGNS:
            return [CampaignTurn(found.campaign, found.domain) for found in queue.ready()]
        turns = [MessageTurn(found.stream, found.domain) for found in messages.ready(stream.id)]
        if turns:
            # Where nothing wakes us, this is how we hear of it.
            self.give_way.note_other_mail()
        return turns

    def new_delivery(self, stream: str = "") -> Delivery:
        """Return what one thread sends a stream's mail with."""
        provider = self.provider()
        self.providers.append(provider)
        return Delivery(
            provider=provider,
            worker=self.worker,
            persist=self.persist,
            is_stopping=self.is_stopping,
            in_line=self.give_way.one_at_a_time if stream == CAMPAIGNS else nullcontext,
        )

    def turn(self, delivery: Delivery) -> bool:
        """Do one round: chores and housekeeping, then one batch of whatever waits; False when idle."""
        # Chores go on while nothing may be sent: they find out what was.
        busy = False
        for chore in self.chores:
            busy |= chore()
        if self.gate.reason():
            return busy
        busy |= housekeeping.turn()
        for stream in self.served():
            for turn in self.ready(stream):
                busy |= delivery.send_one(turn)
        return busy | housekeeping.complete()

    def run_once(self) -> None:
        """Work until nothing is due."""
        delivery = self.new_delivery()
        while not self.is_stopping() and self.turn(delivery):
            pass

    def run(self) -> None:
        """Work until told to stop, then finish what is open and give back what was not begun."""
        others = [
            threading.Thread(target=self.ask, args=(chore,), name="chore", daemon=True)
            for chore in self.chores
        ]
        others.append(threading.Thread(target=self.listener.run, name="listener", daemon=True))
        house = threading.Thread(target=self.house, name="house", daemon=True)
        for thread in (house, *others):
            thread.start()
        while not self.is_stopping():
            self.stop.wait(LOOK_FOR_SIGNALS)
        self.stop.set()
        for bell in (self.bell, *(lanes.bell for lanes in list(self.lanes.values()))):
            bell.ring_out()
        house.join(LAST_MOMENT)
        self.finish([thread for lanes in self.lanes.values() for thread in lanes.threads])
        for thread in others:
            # It may be asking the provider; stopping anywhere loses nothing, so nobody waits for the answer.
            thread.join(0.5)

    def end(self) -> None:
        """Stop; the second time, cut what is open. For a signal handler, which may interrupt itself: it takes no lock."""
        self.signals += 1

    def is_stopping(self) -> bool:
        """Say whether we were told to stop."""
        return self.stop.is_set() or self.signals > 0

    def pace(self) -> float:
        """Return how long to rest between two looks."""
        return self.poll * (WOKEN_LOOKS_LESS if self.listener.is_listening else 1)

    def wake(self, stream: str) -> None:
        """Look at once for what has become ready in a stream; in all of them where none is named."""
        if stream not in ("", CAMPAIGNS):
            self.give_way.note_other_mail()
        for name, lanes in list(self.lanes.items()):
            if stream in ("", name):
                lanes.wake()
        if stream in ("", CAMPAIGNS):
            # A campaign that has just been started has nobody yet.
            self.bell.ring()

    def house(self) -> None:
        """Keep house until told to stop."""
        try:
            repeat(self.keep_house, until=self.stop.is_set, bell=self.bell, poll=self.pace)
        finally:
            connection.close()

    def keep_house(self) -> bool:
        """Do one round of housekeeping; people who have just become ready are looked for at once."""
        clock.now()  # says in the log where ours is wrong; nothing here goes by it
        self.arrange()
        self.beat()
        if self.gate.reason():
            return False
        busy = housekeeping.turn()
        if busy and CAMPAIGNS in self.lanes:
            self.lanes[CAMPAIGNS].wake()
        return busy

    def arrange(self) -> None:
        """Have as many threads for each stream as it may have calls, and we may."""
        for stream in self.served():
            lanes = self.lanes.get(stream.name)
            if lanes is None:
                lanes = self.lanes[stream.name] = Lanes(
                    stream.name,
                    look=partial(self.ready, stream),
                    delivery=partial(self.new_delivery, stream.name),
                    poll=self.pace,
                    stop=self.stop,
                )
            lanes.want(min(stream.concurrency, self.concurrency))

    def beat(self) -> None:
        """Say once a while that we live and what we are doing."""
        if time.monotonic() - self.beaten_at < BEAT_EVERY:
            return
        doing = {
            "calls": {name: len(lanes.busy) for name, lanes in self.lanes.items() if lanes.busy},
            "woken": self.listener.is_listening,
        }
        workers.beat(id=self.id, name=self.worker, streams=self.streams, doing=doing)
        workers.forget(age=FORGET_AFTER)
        self.beaten_at = time.monotonic()

    def ask(self, chore: Callable[[], bool]) -> None:
        """Do a chore again and again until told to stop."""
        try:
            repeat(chore, until=self.stop.is_set, bell=Bell(), poll=lambda: self.poll * WOKEN_LOOKS_LESS)
        finally:
            connection.close()

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
            any(lane.is_alive() for lane in lanes)
            and time.monotonic() < deadline
            and not self.abort.is_set()
            and self.signals < 2
        ):
            self.abort.wait(0.05)
        if any(lane.is_alive() for lane in lanes):
            logger.warning("calls cut at the end of the grace")
            for provider in self.providers:
                provider.close()
            end = time.monotonic() + LAST_MOMENT
            for lane in lanes:
                lane.join(max(end - time.monotonic(), 0))
            self.abort.set()
        with suppress(*DATABASE_AWAY):
            workers.end(self.id)
        connection.close()
