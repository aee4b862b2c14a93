"""The events API: the same events as the webhooks, a page at a time, perhaps late and out of order."""

import heapq
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import orjson

from mailkoenig.simulator.expressions import matches
from mailkoenig.simulator.fates import Phase
from mailkoenig.simulator.happenings import Happening, Happenings
from mailkoenig.simulator.payloads import Event
from mailkoenig.simulator.records import Message

LARGEST_PAGE = 300
FILTERS = (
    "event",
    "list",
    "attachment",
    "from",
    "message-id",
    "subject",
    "to",
    "size",
    "recipient",
    "recipients",
    "tags",
    "severity",
)
Position = tuple[float, int, int, int]
"""A block's first moment, its message, its phase, and the recipient in it."""


class BadQuery(ValueError):
    """A question that the provider refuses."""


@dataclass(frozen=True, slots=True)
class Query:
    """What somebody wants to know of one domain."""

    domain: str
    filters: Mapping[str, str]
    begin: float | None
    end: float | None
    ascending: bool
    limit: int
    after: Position | None = None

    @classmethod
    def read(cls, domain: str, parameters: Mapping[str, str]) -> "Query":
        """Read the parameters of a first page."""
        begin, end = moment(parameters.get("begin", "")), moment(parameters.get("end", ""))
        word = parameters.get("ascending", "").lower()
        if begin is not None and end is None and not word:
            raise BadQuery("'ascending' is required when 'end' is not given")
        ascending = (
            word in ("yes", "true") if word else begin is not None and end is not None and begin <= end
        )
        if begin is not None and end is not None and begin > end:
            begin, end = end, begin
        elif not ascending and begin is not None and end is None:
            begin, end = None, begin  # going back from begin
        limit = parameters.get("limit", "") or "100"
        if not limit.isdigit() or not int(limit):
            raise BadQuery("'limit' is not a valid number")
        filters = {name: parameters[name] for name in FILTERS if parameters.get(name)}
        return cls(domain, filters, begin, end, ascending, min(int(limit), LARGEST_PAGE))

    @classmethod
    def from_token(cls, token: str) -> "Query":
        """Read the token of a later page."""
        try:
            values = orjson.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
            query = cls(**values)
        except (ValueError, TypeError) as error:
            raise BadQuery("page token is not valid") from error
        return query

    def token(self, after: Position | None, *, ascending: bool) -> str:
        """Return the token of the page behind `after`."""
        values = {
            "domain": self.domain,
            "filters": self.filters,
            "begin": self.begin,
            "end": self.end,
            "ascending": ascending,
            "limit": self.limit,
            "after": after,
        }
        return urlsafe_b64encode(orjson.dumps(values)).decode().rstrip("=")


def moment(text: str) -> float | None:
    """Read a moment: seconds since 1970, or a date as in a mail."""
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text).timestamp()
    except ValueError as error:
        raise BadQuery(f"'{text}' is not an RFC-2822 compliant date or a timestamp") from error


class EventLog:
    """Answers questions about what happened."""

    def __init__(
        self,
        happenings: Happenings,
        *,
        clock: Callable[[], float],
        delay: float = 0.0,
        shuffle: float = 0.0,
    ) -> None:
        self.happenings = happenings
        self.clock = clock
        self.delay = delay
        """Seconds before an event can be read."""
        self.shuffle = shuffle
        """Up to so many seconds more, different for each event: they become readable out of order."""

    def page(self, query: Query) -> tuple[list[Event], str, str]:
        """Return a page's events and the tokens of the next and the previous page."""
        items: list[Event] = []
        first = last = query.after
        for position, happening in self.found(query):
            if len(items) == query.limit:
                break
            first = first if items else position
            last = position
            items.append(happening.event)
        return (
            items,
            query.token(last, ascending=query.ascending),
            query.token(first, ascending=not query.ascending),
        )

    def found(self, query: Query) -> Iterator[tuple[Position, Happening]]:
        """Go through what can be read already and fits, from the query's position on."""
        now = self.clock()
        after = tuple(query.after or ())
        for begins, message, phase in self.blocks(query):
            block = (begins, message.number, int(phase))
            if after and (block < after[:3] if query.ascending else block > after[:3]):
                continue
            happenings = self.happenings.block(message, phase)
            for happening in happenings if query.ascending else reversed(list(happenings)):
                position = (*block, happening.index)
                if after and (position <= after if query.ascending else position >= after):
                    continue
                if fits(happening.event, query) and self.readable_at(happening) <= now:
                    yield position, happening

    def readable_at(self, happening: Happening) -> float:
        """Return from when on an event can be read."""
        wait = self.delay + (self.shuffle * self.happenings.lateness(happening) if self.shuffle else 0.0)
        return float(happening.event["timestamp"]) + wait

    def blocks(self, query: Query) -> Iterator[tuple[float, Message, Phase]]:
        """Go through the phases of the messages that may matter, in the order they begin."""
        if query.ascending:
            start = max(
                (value for value in (query.begin, query.after and query.after[0]) if value), default=0.0
            )
        else:
            start = query.begin or 0.0
        messages = [item for item in self.candidates(query, start) if item.domain == query.domain]
        sign = 1 if query.ascending else -1
        heap: list[tuple[float, int, int]] = []
        by_number: dict[int, Message] = {}
        waiting = iter(messages if query.ascending else reversed(messages))
        following = next(waiting, None)
        while heap or following:
            while following and (not heap or self.edge(following, query) <= heap[0][0]):
                by_number[following.number] = following
                for phase in self.happenings.phases:
                    begins = self.happenings.begins(following, phase)
                    heapq.heappush(heap, (sign * begins, sign * following.number, sign * phase))
                following = next(waiting, None)
            begins, number, step = heapq.heappop(heap)
            yield sign * begins, by_number[sign * number], Phase(sign * step)

    def edge(self, message: Message, query: Query) -> float:
        """Return the least key that a message's blocks can have."""
        if query.ascending:
            return message.accepted_at
        return -(message.accepted_at + self.happenings.span)

    def candidates(self, query: Query, start: float) -> Sequence[Message]:
        """Return the messages to look at: by id where the filter is one plain id, else from a moment on."""
        store = self.happenings.store
        wanted = query.filters.get("message-id", "").strip('"')
        if "@" in wanted and not set(wanted) & set('<>() "'):
            return store.with_message_id(wanted)
        messages = store.messages
        first = bisect_left(messages, start - self.happenings.span, key=accepted_at)
        last = bisect_right(messages, query.end, key=accepted_at) if query.end else len(messages)
        return messages[first:last]


def accepted_at(message: Message) -> float:
    """Return what the list of messages is sorted by."""
    return message.accepted_at


def fits(event: Event, query: Query) -> bool:
    """Say whether an event lies in the range and passes every filter."""
    timestamp = float(event["timestamp"])
    if query.begin is not None and timestamp < query.begin:
        return False
    if query.end is not None and timestamp > query.end:
        return False
    return all(matches(expression, texts(event, name)) for name, expression in query.filters.items())


def texts(event: Event, name: str) -> list[str]:
    """Return the values of an event's field as a filter sees them."""
    message = event.get("message", {})
    headers = message.get("headers", {})
    if name in ("recipient", "recipients"):
        return [str(event.get("recipient", ""))]
    if name == "tags":
        return [str(tag) for tag in event.get("tags", ())]
    if name == "attachment":
        return [str(file["filename"]) for file in message.get("attachments", ())]
    if name == "size":
        return [str(message.get("size", 0))]
    if name in ("from", "to", "subject", "message-id"):
        return [str(headers.get(name, ""))]
    return [str(event.get(name, ""))]
