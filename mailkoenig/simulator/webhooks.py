"""Posts events as signed webhooks: made when they are due, a bounded number waiting, whatever was accepted."""

import heapq
import hmac
import http.client
import itertools
import queue
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from secrets import token_hex
from urllib.parse import unquote, urlsplit

import orjson

from mailkoenig.simulator.fates import Phase
from mailkoenig.simulator.happenings import Happening, Happenings
from mailkoenig.simulator.payloads import Event
from mailkoenig.simulator.records import Message

WAITING = 1_000
LATE = 10_000
LISTS = {
    "permanent_fail": "bounces",
    "unsubscribed": "unsubscribes",
    "complained": "complaints",
}


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event on its way to one address; made again from this when it has to be posted again."""

    url: str
    message: Message
    phase: Phase
    index: int
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Habits:
    """How the provider posts."""

    threads: int = 4
    retries: Sequence[float] = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    """Seconds before each further attempt; the real ones are 5, 10, 15 minutes, 1, 2, 4 hours."""
    duplicated: float = 0.0
    """Share of events that come twice, the same bytes."""
    reordered: float = 0.0
    """Share of events that come after later ones."""
    timeout: float = 10.0


class Poster:
    """Posts what happens to each scheduled message, a phase at a time."""

    def __init__(
        self,
        happenings: Happenings,
        *,
        targets: Callable[[str, str], Sequence[str]],
        signing_key: str,
        habits: Habits,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.happenings = happenings
        self.targets = targets
        self.signing_key = signing_key
        self.habits = habits
        self.clock = clock
        self.answers: Counter[str] = Counter()
        """What the posts were answered: the status, or the name of the error."""
        self._dice = Random(happenings.seed)  # noqa: S311  # no secret: the same seed gives the same order
        self._condition = threading.Condition()
        self._blocks: list[tuple[float, int, Message, Phase]] = []
        self._late: list[tuple[float, int, Delivery]] = []
        self._order = itertools.count()
        self._outstanding = 0
        self._stopping = False
        self._ready: queue.Queue[tuple[Delivery, Event] | None] = queue.Queue(maxsize=WAITING)
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start the threads; the first scheduled message does."""
        work = [self.dispatch, *[self.post_all] * self.habits.threads]
        self._threads = [threading.Thread(target=target, name="webhooks", daemon=True) for target in work]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop; what was not posted stays unposted."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        for _ in self._threads:
            with suppress(queue.Full):  # then they are not waiting, and see for themselves
                self._ready.put_nowait(None)
        for thread in self._threads:
            thread.join(timeout=self.habits.timeout + 1)
        self._threads = []

    def schedule(self, message: Message) -> None:
        """Post a message's events when they happen."""
        phases = self.happenings.phases
        with self._condition:
            if not self._threads and not self._stopping:
                self.start()
            for phase in phases:
                entry = (self.happenings.due(message, phase), next(self._order), message, phase)
                heapq.heappush(self._blocks, entry)
            self._outstanding += len(phases)
            self._condition.notify_all()

    def forget(self) -> None:
        """Post nothing more of what was scheduled."""
        with self._condition:
            self._outstanding -= len(self._blocks) + len(self._late)
            self._blocks.clear()
            self._late.clear()
            self._condition.notify_all()

    def drain(self, timeout: float) -> bool:
        """Wait until everything scheduled was posted and answered, or given up; say whether it was."""
        with self._condition:
            return self._condition.wait_for(lambda: self._outstanding == 0, timeout=timeout)

    @property
    def outstanding(self) -> int:
        """How much is scheduled, waits or is on its way: phases of messages, and events."""
        return self._outstanding

    def dispatch(self) -> None:
        """Hand out what is due: what was late before, then the next phase."""
        while True:
            with self._condition:
                late, block = self.next_due()
                if self._stopping:
                    return
            if late is not None:
                happening = self.happenings.one(late.message, late.phase, late.index)
                if happening is not None:
                    self.hand_out(late, happening.event)
            if block is not None:
                self.dispatch_block(*block)
                self.done()

    def next_due(self) -> tuple[Delivery | None, tuple[Message, Phase] | None]:
        """Wait for the next thing that is due, and take it."""
        while not self._stopping:
            now = self.clock()
            if self._late and self._late[0][0] <= now:
                return heapq.heappop(self._late)[2], None
            if self._blocks and self._blocks[0][0] <= now and len(self._late) < LATE:
                _, _, message, phase = heapq.heappop(self._blocks)
                return None, (message, phase)
            moments = [heap[0][0] for heap in (self._late, self._blocks) if heap]
            wait = min(moments) - now if moments else None
            self._condition.wait(timeout=None if wait is None else max(0.001, min(wait, 60)))
        return None, None

    def dispatch_block(self, message: Message, phase: Phase) -> None:
        """Hand out a phase's events."""
        for happening in self.happenings.block(message, phase):
            self.learn(message, happening)
            for url in self.targets(message.domain, happening.hook):
                delivery = Delivery(url, message, phase, happening.index)
                late = self._dice.random() < self.habits.reordered
                with self._condition:
                    if self._stopping:
                        return
                    self._outstanding += 1
                    if late:
                        self.postpone(delivery, self.happenings.pace * 2 * self._dice.random() + 0.05)
                if not late:
                    self.hand_out(delivery, happening.event)

    def learn(self, message: Message, happening: Happening) -> None:
        """Put an address on the provider's own list, so that the next mail to it is not tried."""
        event = happening.event
        kind = LISTS.get(happening.hook)
        if kind is None or event.get("reason", "bounce") != "bounce":
            return
        record = {"address": event["recipient"], "created_at": event["timestamp"]}
        if kind == "bounces":
            record |= {"code": "550", "error": "5.1.1 User unknown"}
        if kind == "unsubscribes":
            record["tags"] = ["*"]
        self.happenings.store.suppressions.add(message.domain, kind, record)

    def postpone(self, delivery: Delivery, seconds: float) -> None:
        """Hand a delivery out later; the condition is held."""
        heapq.heappush(self._late, (self.clock() + seconds, next(self._order), delivery))
        self._condition.notify_all()

    def hand_out(self, delivery: Delivery, event: Event) -> None:
        """Give an event to the posting threads, when they have room for it."""
        while not self._stopping:
            try:
                self._ready.put((delivery, event), timeout=0.2)
            except queue.Full:
                continue
            return

    def post_all(self) -> None:
        """Post one event after the other over connections that stay open."""
        connections: dict[str, http.client.HTTPConnection] = {}
        while not self._stopping:
            try:
                work = self._ready.get(timeout=0.2)
            except queue.Empty:
                continue
            if work is not None:
                self.post_one(*work, connections)
        for connection in connections.values():
            connection.close()

    def post_one(
        self, delivery: Delivery, event: Event, connections: dict[str, http.client.HTTPConnection]
    ) -> None:
        """Post an event, perhaps twice, and again later where the answer asks for it."""
        body = orjson.dumps({"signature": signature(self.signing_key, self.clock()), "event-data": event})
        answer = self.post(delivery.url, body, connections)
        if self.habits.duplicated and self._dice.random() < self.habits.duplicated:
            self.post(delivery.url, body, connections)
        again = answer not in ("200", "406") and event["event"] != "delivered"
        if again and delivery.attempt < len(self.habits.retries):
            wait = self.habits.retries[delivery.attempt]
            with self._condition:
                self.postpone(
                    Delivery(
                        delivery.url, delivery.message, delivery.phase, delivery.index, delivery.attempt + 1
                    ),
                    wait,
                )
            return
        self.done()

    def post(self, url: str, body: bytes, connections: dict[str, http.client.HTTPConnection]) -> str:
        """Make one request and return the status, or the error's name."""
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"Content-Type": "application/json", "User-Agent": "mailgun/treq-20.9.0"}
        if parts.username is not None:
            credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            headers["Authorization"] = f"Basic {b64encode(credentials.encode()).decode()}"
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        answer = ""
        while not answer:
            connection = connections.get(parts.netloc)
            is_fresh = connection is None
            if connection is None:
                connection = kind(parts.netloc.rsplit("@", 1)[-1], timeout=self.habits.timeout)
                connections[parts.netloc] = connection
            try:
                connection.request("POST", path, body, headers)
                response = connection.getresponse()
                response.read()
                answer = str(response.status)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                del connections[parts.netloc]
                # An open connection that the other side closed meanwhile says nothing about the other side.
                if is_fresh or not isinstance(error, ConnectionError):
                    answer = type(error).__name__
        with self._condition:
            self.answers[answer] += 1
        return answer

    def done(self) -> None:
        """Count one thing less to do."""
        with self._condition:
            self._outstanding -= 1
            if not self._outstanding:
                self._condition.notify_all()


def signature(key: str, now: float) -> Mapping[str, str]:
    """Sign as the provider does: the moment and a token, not the body."""
    timestamp, token = str(int(now)), token_hex(25)
    digest = hmac.new(key.encode(), f"{timestamp}{token}".encode(), sha256).hexdigest()
    return {"timestamp": timestamp, "token": token, "signature": digest}
