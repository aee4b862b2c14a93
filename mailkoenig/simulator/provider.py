"""The provider's API: keys, domains, messages."""

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mailkoenig.simulator import answers
from mailkoenig.simulator.faults import Script
from mailkoenig.simulator.http import Reply, Request
from mailkoenig.simulator.messages import MessagesEndpoint
from mailkoenig.simulator.store import Store


@dataclass(frozen=True, slots=True)
class Keys:
    """The account's key may do everything, the sending key may only send."""

    account: str
    sending: str = ""


class ProviderApi:
    """Everything under /v3 and /v4."""

    def __init__(
        self,
        *,
        store: Store,
        script: Script,
        endpoint: MessagesEndpoint,
        domains: Sequence[str] | None,
        states: Mapping[str, str],
        keys: Keys,
    ) -> None:
        self.store = store
        self.script = script
        self.endpoint = endpoint
        self.domains = domains
        self.states = states
        self.keys = keys

    def answer(self, request: Request) -> Reply | None:
        """Answer a path of the API."""
        match request.parts:
            case ["v3", domain, "messages"] if request.method == "POST":
                return self.messages(domain, request)
            case ["v3", _, "messages.mime"]:
                return answers.message("This simulator takes no prebuilt MIME: use /messages.", 400)
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

    def knows(self, domain: str) -> bool:
        """Say whether a domain is the account's."""
        return self.domains is None or domain in self.domains

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
