"""The provider's API: who may ask what, and who answers."""

import base64
import binascii
import hmac
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from mailkoenig.simulator import answers, domains
from mailkoenig.simulator.eventlog import BadQuery, EventLog, Query
from mailkoenig.simulator.faults import Facts, Script
from mailkoenig.simulator.forms import BadForm, parse
from mailkoenig.simulator.http import Reply, Request, json_reply
from mailkoenig.simulator.lists import Lists
from mailkoenig.simulator.messages import MessagesEndpoint
from mailkoenig.simulator.suppressions import KINDS


@dataclass(frozen=True, slots=True)
class Keys:
    """The account's key may do everything, the sending key may only send."""

    account: str
    sending: str = ""


@dataclass(frozen=True, slots=True)
class ProviderApi:
    """Everything under /v3 and /v4."""

    script: Script
    endpoint: MessagesEndpoint
    log: EventLog
    lists: Lists
    registrations: domains.Registrations
    known: Sequence[str] | None
    """None where every domain is the account's."""
    states: Mapping[str, str]
    keys: Keys
    clock: Callable[[], float]

    def answer(self, request: Request) -> Reply | None:
        """Answer a path of the API."""
        match request.parts:
            case ["v3", domain, "messages"] if request.method == "POST":
                return self.messages(domain, request)
            case ["v3", _, "messages.mime"]:
                return answers.message("This simulator takes no prebuilt MIME: use /messages.", 400)
            case ["v3" | "v4", "domains", domain, *rest]:
                on = "webhooks" if rest[:1] == ["webhooks"] else "domains"
                return self.guarded(on, domain, request, lambda: self.domain(domain, rest, request))
            case ["v3", domain, "events", *rest] if request.method == "GET" and len(rest) < 2:
                return self.guarded("events", domain, request, lambda: self.events(domain, rest, request))
            case ["v3", domain, kind, *rest] if kind in KINDS and len(rest) < 2:
                reply = self.lists.answer
                return self.guarded(
                    "suppressions", domain, request, lambda: reply(request, domain, kind, rest)
                )
        return None

    def messages(self, domain: str, request: Request) -> Reply:
        """Answer a call to send."""
        dropped = self.endpoint.drop(domain)
        if dropped is not None:
            return dropped
        if not self.holds(request, self.keys.account, self.keys.sending):
            request.read()
            return self.endpoint.refuse(domain, answers.forbidden())
        refusal = self.refusal(domain)
        if refusal is not None:
            request.read()
            return self.endpoint.refuse(domain, refusal)
        return self.endpoint.post(domain, request)

    def refusal(self, domain: str) -> Reply | None:
        """Say why nothing may be sent from a domain."""
        if not self.knows(domain):
            return answers.domain_not_found(domain)
        match self.states.get(domain, "active"):
            case "unverified":
                return answers.unverified(domain)
            case "disabled":
                text = f"Domain {domain} is not allowed to send: Domain is disabled"
                return answers.message(text, 403)
        return None

    def guarded(self, on: str, domain: str, request: Request, usual: Callable[[], Reply]) -> Reply:
        """Answer only the account's key, and play the faults scripted for this part of the API."""
        request.read()
        if self.holds(request, self.keys.sending) and self.keys.sending != self.keys.account:
            return answers.message("Forbidden: a sending key may only send", 403)
        if not self.holds(request, self.keys.account):
            if on == "domains":
                return answers.message("Invalid private key", 401)
            return answers.forbidden()
        facts = Facts(on, domain)
        delays, fault = self.script.play(facts)
        now = self.clock()
        dice = random.Random(now)  # noqa: S311  # no secret
        request.stopping.wait(sum(answers.delay(item.seconds, dice=dice) for item in delays))
        if not self.knows(domain):
            return answers.domain_not_found(domain)
        if fault is not None and fault.action == "empty":
            return self.events(domain, request.parts[3:], request, hidden=True)
        reply = usual()
        return answers.faulty(fault, facts, usual=reply, now=now) if fault is not None else reply

    def knows(self, domain: str) -> bool:
        """Say whether a domain is the account's."""
        return self.known is None or domain in self.known

    def events(self, domain: str, rest: Sequence[str], request: Request, *, hidden: bool = False) -> Reply:
        """Answer with a page of the log; `hidden` shows nothing, and loses nothing for later."""
        try:
            if rest:
                query = Query.from_token(rest[0])
            else:
                query = Query.read(domain, {name: values[-1] for name, values in request.query.items()})
        except BadQuery as error:
            return answers.message(str(error), 400)
        items, following, previous = self.log.page(query)
        if hidden:
            items, following = [], query.token(query.after, ascending=query.ascending)
        base = f"http://{request.host}/v3/{quote(domain)}/events"
        paging = {"next": f"{base}/{following}", "previous": f"{base}/{previous}"}
        return json_reply({"items": items, "paging": paging})

    def domain(self, name: str, rest: Sequence[str], request: Request) -> Reply:
        """Answer about a domain."""
        state = self.states.get(name, "active")
        match request.method, rest:
            case "GET", []:
                return json_reply(domains.domain(name, state))
            case "PUT", ["verify"]:
                return json_reply(
                    {"message": "Domain DNS records have been updated"} | dict(domains.domain(name, state))
                )
            case "GET", ["sending_queues"]:
                return json_reply(domains.sending_queues(state))
            case "GET", ["tracking"]:
                return json_reply(domains.TRACKING)
            case _, ["webhooks", *more] if len(more) < 2:
                return self.webhooks(name, more, request)
        return answers.message("Not found", 404)

    def webhooks(self, name: str, more: Sequence[str], request: Request) -> Reply:
        """List, add, change or remove registered webhooks."""
        if request.method == "GET" and not more:
            return json_reply(self.registrations.listed(name))
        try:
            form = parse(request.headers.get("Content-Type") or "", request.read())
        except BadForm as error:
            return answers.message(str(error), 400)
        if request.parts[0] == "v4":
            url = form.last("url") or request.get("url")
            return self.registrations.one_url(request.method, name, form, url)
        return self.registrations.one_type(request.method, name, more[0] if more else form.last("id"), form)

    @staticmethod
    def holds(request: Request, *keys: str) -> bool:
        """Say whether a request came with one of these keys."""
        scheme, _, encoded = (request.headers.get("Authorization") or "").partition(" ")
        if scheme.lower() != "basic":
            return False
        try:
            user, _, key = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return False
        return user == "api" and any(
            expected and hmac.compare_digest(key.encode(), expected.encode()) for expected in keys
        )
