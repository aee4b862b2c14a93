"""What every provider takes and gives, in our words."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a provider writes a variable in a mail, and which text it would take for one."""

    placeholder: Callable[[str], str]
    """The name of a variable to what the provider replaces with its value."""
    mistaken: re.Pattern[str]
    """What the provider would replace, or might; never sent inside a value or an author's text."""
    untracked: str = ""
    """The attribute of a link that the provider must not lead through its own click counter."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """One recipient of a call."""

    address: str
    values: Mapping[str, str]
    """Every variable that the call uses, by name."""


@dataclass(frozen=True, slots=True)
class File:
    """What goes along with a mail."""

    name: str
    content_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Call:
    """One request: the same mail to each recipient, with that recipient's values in it."""

    batch: UUID
    domain: str
    sender: str
    """The From header."""
    subject: str
    html: str
    text: str
    """Either part may be empty, not both."""
    recipients: Sequence[Envelope]
    headers: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    """Comes back in every event; readers of the mail can see it."""
    tags: Sequence[str] = ()
    track_opens: bool = False
    track_clicks: bool = False
    files: Sequence[File] = ()


class Kind(StrEnum):
    """What an answer means for the batch."""

    SENT = "sent"  # the provider took all of it
    NOT_MADE = "not_made"  # we did not make the call, for a reason of our own; the same again at once
    RETRY = "retry"  # surely not taken; the domain waits, then the same again
    SPLIT = "split"  # surely not taken; smaller batches will be
    RECIPIENT_FAILED = "recipient_failed"  # surely not taken, and this one recipient never will be
    PAUSE_CAMPAIGN = "pause_campaign"  # surely not taken; every batch of the campaign would fail alike
    PAUSE_DOMAIN = "pause_domain"  # surely not taken; everything from this domain would fail alike
    UNKNOWN = "unknown"  # perhaps taken


@dataclass(frozen=True, slots=True)
class Outcome:
    """The meaning of one call's answer."""

    kind: Kind
    reason: str = ""
    """The provider's words, or what happened instead of an answer."""
    answer_class: str = ""
    """The status of the answer, or in a word what happened instead."""
    provider_id: str = ""
    after: timedelta | None = None
    """RETRY: how long the provider asked us to wait; None where it did not say."""
    limit: int | None = None
    """SPLIT: the most recipients a call that the domain may have from now on; None where one address is bad."""
    is_too_large: bool = False
    """SPLIT: the call had too many bytes; where one recipient alone has, the mail itself is too large."""


class Provider(Protocol):
    """A client that sends; it keeps at most one connection, so each thread has its own."""

    name: str
    messages_per_call: int
    """How many different mails one call can carry."""

    @property
    def dialect(self) -> Dialect:
        """How it writes variables."""
        ...

    def send(self, call: Call) -> Outcome:
        """Make the one request, without a retry, and say what its answer means."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Verdict(StrEnum):
    """What the provider's own log says about a call that got no clear answer."""

    ACCEPTED = "accepted"  # the log holds an event of it
    ABSENT = "absent"  # the log holds none, and is known to work
    NO_ANSWER = "no_answer"  # the log can't be read, or is too empty to prove anything


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict, and how it was reached."""

    verdict: Verdict
    words: str


class ProviderLog(Protocol):
    """Reads what the provider has noted; one thread's own."""

    def ask(self, *, domain: str, batch: UUID, since: datetime, sample: Sequence[str]) -> Finding:
        """Say whether the call of `batch`, made after `since`, was accepted; `sample` are addresses that were in it."""
        ...


class EventType(StrEnum):
    """What a provider reports about one mail to one person."""

    ACCEPTED = "accepted"  # the provider took it
    DELIVERED = "delivered"  # the reader's server took it
    DEFERRED = "deferred"  # the reader's server asked to try again later; the provider does
    BOUNCED = "bounced"  # the reader's server refused it for good: the address is dead
    REJECTED = (
        "rejected"  # did not arrive, for a reason that says nothing about the address (policy, full, too old)
    )
    SUPPRESSED = "suppressed"  # the provider did not try: the address is on its own list, `reason` says which
    OPENED = "opened"
    CLICKED = "clicked"
    UNSUBSCRIBED = "unsubscribed"
    COMPLAINED = "complained"  # the reader called it spam
    OTHER = "other"  # kept, and nothing follows from it


@dataclass(frozen=True, slots=True)
class ProviderEvent:
    """One event of a provider in our words."""

    provider: str
    domain: str
    event_id: str
    type: EventType
    occurred_at: datetime
    address: str
    """Normalised where it is an address, else as it came; may be empty."""
    payload: Mapping[str, object]
    """The event as it came, without what PostgreSQL can't store."""
    batch: UUID | None = None
    recipient: int | None = None
    message: int | None = None
    campaign: int | None = None
    message_id: str = ""
    """Without angle brackets."""
    severity: str = ""
    reason: str = ""
    """The provider's words."""
    suppression: str = ""
    """SUPPRESSED: unsubscribed, bounced or complained."""
    is_machine: bool = False
    """OPENED, CLICKED: by a mail program or scanner, not by a person."""
