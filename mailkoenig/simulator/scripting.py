"""JSON for scripts and tests in other processes, under /simulator/."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from mailkoenig.lib.command import UserError
from mailkoenig.simulator.fates import named_outcomes
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.http import Reply, Request, json_reply
from mailkoenig.simulator.records import Call, Message

if TYPE_CHECKING:
    from mailkoenig.simulator.server import Simulator

Item = TypeVar("Item")


class ScriptApi:
    """Shows what was accepted and takes the script of faults."""

    def __init__(self, simulator: "Simulator") -> None:
        self._simulator = simulator

    def answer(self, request: Request) -> Reply | None:
        """Answer a path under /simulator/."""
        if request.parts[:1] != ["simulator"]:
            return None
        try:
            return self.route(request)
        except UserError as error:
            return json_reply({"message": str(error)}, 400)

    def route(self, request: Request) -> Reply:
        """Find the page."""
        match request.method, request.parts[1:]:
            case "GET", ["accepted.json"]:
                return json_reply(self.accepted())
            case "GET", ["totals.json"]:
                return json_reply(self._simulator.totals())
            case "GET", ["calls.json"]:
                return json_reply([call_row(call) for call in page(self._simulator.calls, request)])
            case "GET", ["messages.json"]:
                return json_reply([message_row(item) for item in page(self._simulator.messages, request)])
            case "GET", ["messages", number, recipient] if recipient.endswith(".json"):
                return self.copy(number, recipient.removesuffix(".json"))
            case "GET", ["duplicates.json"]:
                found = self._simulator.duplicates(request.get("by"))
                return json_reply([asdict(item) for item in found])
            case "GET", ["faults.json"]:
                return json_reply([asdict(fault) for fault in self._simulator.faults])
            case "POST", ["faults"]:
                return self.set_faults(request)
            case (("POST" | "DELETE"), ["reset"]):
                self._simulator.reset()
                return json_reply({"message": "Everything is forgotten."})
            case "POST", ["domains"]:
                return self.set_domain(read_json(request))
            case "POST", ["settings"]:
                return self.set_settings(read_json(request))
            case "GET", ["drain"]:
                return json_reply({"drained": self._simulator.drain(number_of(request, "timeout", 30))})
        return json_reply({"message": "There is no such page in the simulator."}, 404)

    def accepted(self) -> dict[str, object]:
        """Return the totals."""
        domains: Counter[str] = Counter()
        for message in self._simulator.messages:
            domains[message.domain] += message.recipients
        return {
            **self._simulator.totals(),
            "distinct": self._simulator.tally.distinct(),
            "duplicates": len(self._simulator.duplicates()),
            "domains": domains,
        }

    def copy(self, number: str, recipient: str) -> Reply:
        """Return one reader's copy."""
        store = self._simulator.store
        message = store.message(int(number)) if number.isdigit() else None
        if message is not None:
            content = store.content(message)
            for address in content.addresses:
                if address.lower() == recipient.lower():
                    return json_reply(asdict(content.copy(message, address)))
        return json_reply({"message": "No such message was accepted."}, 404)

    def set_faults(self, request: Request) -> Reply:
        """Replace the script, or add to it with ?add=1."""
        value = read_json(request)
        faults = [Fault.read(item) for item in (value if isinstance(value, list) else [value])]
        if request.get("add"):
            for fault in faults:
                self._simulator.fault(fault)
        else:
            self._simulator.faults = faults
        return json_reply([asdict(fault) for fault in self._simulator.faults])

    def set_domain(self, value: Any) -> Reply:
        """Change a domain's state: active, unverified or disabled."""
        states = ("active", "unverified", "disabled")
        if not isinstance(value, dict) or not value.get("name") or value.get("state") not in states:
            raise UserError(f'Send {{"name": DOMAIN, "state": one of {", ".join(states)}}}.')
        self._simulator.domain_states[str(value["name"])] = str(value["state"])
        return json_reply(self._simulator.domain_states)

    def set_settings(self, value: Any) -> Reply:
        """Change webhook_url, rates, outcomes, pace, log_delay, log_shuffle or latency for what is accepted from now on."""
        simulator = self._simulator
        known = ("webhook_url", "rates", "outcomes", "pace", "log_delay", "log_shuffle", "latency")
        if not isinstance(value, dict) or set(value) - set(known):
            raise UserError(f"Settings are an object with any of {', '.join(known)}.")
        try:
            happenings = simulator.happenings
            happenings.rates = replace(happenings.rates, **value.get("rates", {}))
            happenings.outcomes = named_outcomes(value.get("outcomes", happenings.outcomes))
            happenings.pace = float(value.get("pace", happenings.pace))
            simulator.log.delay = float(value.get("log_delay", simulator.log.delay))
            simulator.log.shuffle = float(value.get("log_shuffle", simulator.log.shuffle))
            simulator.endpoint.latency = span(value.get("latency", simulator.endpoint.latency))
        except (TypeError, ValueError, AttributeError) as error:
            raise UserError(f"A setting is not what it should be: {error}.") from error
        simulator.webhook_url = value.get("webhook_url", simulator.webhook_url)
        return json_reply({"message": "Changed."})


def read_json(request: Request) -> Any:
    """Read a body that should be JSON."""
    try:
        return orjson.loads(request.read() or b"null")
    except orjson.JSONDecodeError as error:
        raise UserError(f"The body is not JSON: {error}.") from error


def span(value: Any) -> float | tuple[float, float]:
    """Read seconds, or [least, most]."""
    return (float(value[0]), float(value[-1])) if isinstance(value, list | tuple) else float(value)


def page(items: Sequence[Item], request: Request) -> Sequence[Item]:
    """Return `limit` items after number `after`."""
    after, limit = number_of(request, "after", 0), number_of(request, "limit", 100)
    return items[after : after + min(limit, 10_000)]


def number_of(request: Request, name: str, default: int) -> int:
    """Read a whole number from the query."""
    text = request.get(name) or str(default)
    if not text.isdigit():
        raise UserError(f"{name} must be a whole number, not {text!r}.")
    return int(text)


def call_row(call: Call) -> dict[str, object]:
    """Show a call."""
    return asdict(call)


def message_row(message: Message) -> dict[str, object]:
    """Show a message without its content."""
    return {
        "number": message.number,
        "domain": message.domain,
        "accepted_at": message.accepted_at,
        "message_id": message.message_id,
        "recipients": message.recipients,
    }
