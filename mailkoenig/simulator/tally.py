"""Who was accepted, and who more than once: counted when somebody asks, and only what is new since then."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from mailkoenig.simulator.records import Content, Message
from mailkoenig.simulator.store import Store

KEYS = ("campaign", "rid", "tag")


@dataclass(frozen=True, slots=True)
class Duplicate:
    """One reader who got the same mail more than once."""

    address: str
    key: str
    """What makes it the same mail: v:campaign, else v:rid, else the tags, else the subject."""
    messages: Sequence[int]


def sameness(content: Content, by: str = "") -> tuple[str, str]:
    """Return the name and the template of what makes two copies to one address the same mail."""
    if by == "address":
        return "", ""
    variables = dict(content.variable_fields)
    for name in (by,) if by else KEYS:
        if name == "tag" and content.tags:
            return "tag=", ",".join(content.tags)
        if name in variables:
            return f"{name}=", variables[name]
    return "subject=", content.last("subject").replace("%", "")


class Tally:
    """Counts of one store; holds two numbers a recipient, not the recipient."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Start again."""
        self._done = 0
        self._addresses: set[int] = set()
        self._first: dict[int, int] = {}
        self._again: dict[tuple[str, str], list[int]] = {}

    def catch_up(self) -> None:
        """Count what was accepted since the last time."""
        messages = self._store.messages
        if len(messages) < self._done:
            self.clear()
        for message in messages[self._done :]:
            self.count(message, self._store.content(message))
        self._done = len(messages)

    def count(self, message: Message, content: Content) -> None:
        """Count one message's recipients."""
        number = message.number
        name, template = sameness(content)
        for address in content.addresses:
            lower = address.lower()
            self._addresses.add(hash(lower))
            key = name + content.personal(template, address)
            first = self._first.setdefault(hash((lower, key)), number)
            if first != number:
                self._again.setdefault((lower, key), [first]).append(number)

    def distinct(self) -> int:
        """Return how many addresses were accepted at least once."""
        with self._lock:
            self.catch_up()
            return len(self._addresses)

    def duplicates(self) -> list[Duplicate]:
        """Return who got the same mail more than once."""
        with self._lock:
            self.catch_up()
            return [Duplicate(address, key, numbers) for (address, key), numbers in self._again.items()]

    def duplicates_by(self, by: str) -> list[Duplicate]:
        """The same by another key: rid, campaign, tag, subject, another v: name, or address for any two mails."""
        seen: dict[tuple[str, str], list[int]] = {}
        for message, content, address in self._store.copies():
            name, template = sameness(content, by)
            key = name + content.personal(template, address)
            seen.setdefault((address.lower(), key), []).append(message.number)
        return [
            Duplicate(address, key, numbers) for (address, key), numbers in seen.items() if len(numbers) > 1
        ]
