"""Scripted misbehaviour: which call meets which fault."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from mailkoenig.lib.command import UserError

ACTIONS = {
    "latency": "answer as usual, `seconds` later (a number, or [least, most])",
    "answer": "`status`, `body`, `headers` as given",
    "rate_limit": "420 or 429 (`status`), `hint`: one of the shapes in answers.HINTS, `seconds`: how long to wait",
    "bad_address": "400, no valid address, whenever `address` is in the call; `naming` names it",
    "probation": "400, only `limit` recipients per request on probation (10), for calls over the limit",
    "large_batches": "403, not allowed to send large batches yet, for calls over `limit` (10)",
    "unverified": "400, the domain is unverified",
    "unauthorized": "401 Forbidden",
    "payment": "402 Request Failed",
    "terminated": "403, Account Terminated",
    "not_found": "404, Domain not found",
    "too_large": "413, request size exceeds 52.4MiB limit",
    "error": "500 or `status`; after acceptance with `accept`",
    "hang": "silence for `seconds`, or for ever; after acceptance with `accept`",
    "drip": "one byte every `seconds`, of the body or (`part`: headers) of the headers, without end",
    "cut": "close in the middle of the body",
    "drop": "close without an answer: before reading the request, or with `accept` after acceptance",
    "html": "a page instead of JSON, `status` 200 or another",
    "magnificent": "200 Mailgun Magnificent API",
    "truncated": "200 and half of the JSON",
    "redirect": "`status` 302 or another, to `location`",
    "empty": "on events: 200 and nothing in it, whatever was accepted",
}
ONLY = ("domain", "address", "tag", "recipients_over")
ON = ("messages", "events", "domains", "suppressions", "webhooks")
OVER = {"probation": 10, "large_batches": 10}


class BadFault(UserError):
    """A fault that cannot be played; the message says what is wrong with it."""


@dataclass(slots=True)
class Fault:
    """A rule: what happens to the next calls that it fits."""

    action: str
    times: int | None = 1
    """How many calls; None for every call until it is taken away."""
    after: int = 0
    """How many fitting calls pass first."""
    only: Mapping[str, Any] = field(default_factory=dict)
    """domain, address, tag: the call has it; recipients_over: it has more."""
    on: str = "messages"
    accept: bool = False
    """The message is accepted before the fault happens."""
    seconds: float | Sequence[float] | None = None
    status: int | None = None
    body: str | Mapping[str, Any] = ""
    headers: Sequence[Sequence[str]] = ()
    hint: str = "date-text"
    limit: int = 10
    address: str = ""
    naming: bool = False
    part: str = "body"
    location: str = "https://www.example.com/"
    passed: int = 0
    played: int = 0

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise BadFault(f"There is no fault {self.action!r}: use one of {', '.join(ACTIONS)}.")
        if self.on not in ON:
            raise BadFault(f"A fault is on one of {', '.join(ON)}, not on {self.on!r}.")
        if unknown := set(self.only) - set(ONLY):
            raise BadFault(f"A fault is narrowed by {', '.join(ONLY)}, not by {', '.join(sorted(unknown))}.")

    @classmethod
    def read(cls, value: object) -> "Fault":
        """Make a fault from its JSON."""
        names = {item.name for item in fields(cls)} - {"passed", "played"}
        if not isinstance(value, Mapping) or "action" not in value:
            raise BadFault('A fault is an object with at least an action, such as {"action": "error"}.')
        if unknown := set(value) - names:
            raise BadFault(f"A fault has no {', '.join(sorted(unknown))}: it has {', '.join(sorted(names))}.")
        return cls(**value)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a rule may look at."""

    on: str
    domain: str
    addresses: Sequence[str] = ()
    tags: Sequence[str] = ()
    is_read: bool = True
    """False before the body was read: only the domain is known."""


class Script:
    """The rules in order; the first that fits a call is played on it."""

    def __init__(self, faults: Sequence[Fault] = ()) -> None:
        self._lock = threading.Lock()
        self._faults = list(faults)

    @property
    def faults(self) -> list[Fault]:
        """The rules that are not used up."""
        with self._lock:
            return [fault for fault in self._faults if not is_spent(fault)]

    def set(self, faults: Sequence[Fault]) -> None:
        """Replace every rule."""
        with self._lock:
            self._faults = list(faults)

    def add(self, fault: Fault) -> None:
        """Append a rule."""
        with self._lock:
            self._faults = [*(item for item in self._faults if not is_spent(item)), fault]

    def play(self, facts: Facts) -> tuple[list[Fault], Fault | None]:
        """Return the delays and the one fault that this call meets, and use them up."""
        if not self._faults:
            return [], None
        delays: list[Fault] = []
        with self._lock:
            for fault in self._faults:
                if is_spent(fault) or not fits(fault, facts):
                    continue
                if is_early(fault) is facts.is_read:
                    if not facts.is_read and comes_first(fault):
                        break
                    continue
                if fault.passed < fault.after:
                    fault.passed += 1
                    continue
                fault.played += 1
                if fault.action != "latency":
                    return delays, fault
                delays.append(fault)
        return delays, None


def is_spent(fault: Fault) -> bool:
    """Say whether a rule has been played as often as it asked."""
    return fault.times is not None and fault.played >= fault.times


def is_early(fault: Fault) -> bool:
    """Say whether a rule strikes before the request is read."""
    return (
        fault.action == "drop"
        and fault.on == "messages"
        and not fault.accept
        and not set(fault.only) - {"domain"}
    )


def comes_first(fault: Fault) -> bool:
    """Say whether a rule will surely take the call, so that an early rule behind it has to wait."""
    return (
        fault.action not in ("latency", "bad_address", *OVER)
        and fault.passed >= fault.after
        and not set(fault.only) - {"domain"}
    )


def fits(fault: Fault, facts: Facts) -> bool:
    """Say whether a rule is about such a call."""
    only = fault.only
    over = only.get("recipients_over", fault.limit if fault.action in OVER else None)
    address = only.get("address") or (fault.address if fault.action == "bad_address" else "")
    return (
        fault.on == facts.on
        and ("domain" not in only or only["domain"] == facts.domain)
        and ("tag" not in only or only["tag"] in facts.tags)
        and (over is None or len(facts.addresses) > int(over))
        and (not address or address.lower() in map(str.lower, facts.addresses))
    )
