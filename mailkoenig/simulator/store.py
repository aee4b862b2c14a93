"""What the simulated provider has accepted, and what it knows about addresses."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from secrets import token_hex

import orjson

from mailkoenig.simulator.accepting import Submission
from mailkoenig.simulator.forms import Attachment
from mailkoenig.simulator.records import Call, Content, Message
from mailkoenig.simulator.spool import Spool
from mailkoenig.simulator.suppressions import Suppressions

CACHED = 8
BODIES = ("text", "html", "amp-html")


class Store:
    """Messages and calls. In memory each is one small object; contents lie in the spool."""

    def __init__(
        self,
        *,
        keep_bodies: bool = True,
        largest_variables: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.keep_bodies = keep_bodies
        self.largest_variables = largest_variables
        self.clock = clock
        self.suppressions = Suppressions()
        self.messages: list[Message] = []
        self.calls: list[Call] = []
        self.accepted = 0
        self._spool = Spool()
        self._lock = threading.Lock()
        self._by_message_id: dict[str, list[Message]] = {}
        self._personal_ids: list[Message] = []
        self._cache: OrderedDict[int, Content] = OrderedDict()

    def open_call(self, domain: str) -> Call:
        """Write down that a call came in."""
        with self._lock:
            call = Call(number=len(self.calls) + 1, at=self.clock(), domain=domain)
            self.calls.append(call)
        return call

    def accept(self, domain: str, submission: Submission) -> Message:
        """Take a message."""
        content = submission.content
        packed = self.pack(content)
        offset = self._spool.append(packed)
        suppressed = self.suppressions.among(domain, content.addresses)
        with self._lock:
            now = self.clock()
            moment = time.strftime("%Y%m%d%H%M%S", time.gmtime(now))
            message_id = submission.message_id or f"{moment}.{token_hex(8)}@{domain}"
            message = Message(
                number=len(self.messages) + 1,
                domain=domain,
                accepted_at=now,
                message_id=message_id,
                recipients=len(content.addresses),
                offset=offset,
                length=len(packed),
                suppressed=suppressed or None,
            )
            self.messages.append(message)
            self.accepted += message.recipients
            if "%" in message_id:
                self._personal_ids.append(message)
            else:
                self._by_message_id.setdefault(message_id, []).append(message)
        return message

    def pack(self, content: Content) -> bytes:
        """Return a message's content as the spool keeps it."""
        dropped = {"recipient-variables"}
        if content.raw_variables is not None:
            dropped.add("to")  # everybody sees their own address
        if not self.keep_bodies:
            dropped.update(BODIES)
        return orjson.dumps(
            [
                {name: values for name, values in content.fields.items() if name not in dropped},
                content.addresses,
                [[file.field, file.filename, file.size] for file in content.attachments],
                None
                if content.raw_variables is None
                else orjson.Fragment(content.last("recipient-variables")),
            ]
        )

    def content(self, message: Message) -> Content:
        """Read a message's content back."""
        with self._lock:
            if found := self._cache.get(message.offset):
                self._cache.move_to_end(message.offset)
                return found
        fields, addresses, files, variables = orjson.loads(self._spool.read(message.offset, message.length))
        content = Content(
            fields, addresses, [Attachment(*file) for file in files], variables, self.largest_variables
        )
        with self._lock:
            self._cache[message.offset] = content
            while len(self._cache) > CACHED:
                self._cache.popitem(last=False)
        return content

    def message(self, number: int) -> Message | None:
        """Return the message with this number."""
        messages = self.messages
        return messages[number - 1] if 0 < number <= len(messages) else None

    def with_message_id(self, message_id: str) -> Sequence[Message]:
        """Return the messages that carry this id, without angle brackets, or may: their id is another for each reader."""
        with self._lock:
            exact = self._by_message_id.get(message_id, [])
            return sorted([*exact, *self._personal_ids], key=lambda message: message.number)

    def copies(self) -> Iterator[tuple[Message, Content, str]]:
        """Go through every accepted recipient, without holding more than one message."""
        for message in list(self.messages):
            content = self.content(message)
            for address in content.addresses:
                yield message, content, address

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self.messages = []
            self.calls = []
            self.accepted = 0
            self._by_message_id.clear()
            self._personal_ids.clear()
            self._cache.clear()
            self._spool.clear()
        self.suppressions.clear()

    def close(self) -> None:
        """Give the disk back for good."""
        self._spool.close()
