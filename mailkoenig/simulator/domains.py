"""What the provider says of a sending domain, and which webhooks are registered for it."""

import threading
from collections.abc import Mapping
from typing import Any

from mailkoenig.simulator.forms import Form
from mailkoenig.simulator.http import Reply, json_reply

TYPES = (
    "accepted",
    "delivered",
    "opened",
    "clicked",
    "unsubscribed",
    "complained",
    "permanent_fail",
    "temporary_fail",
)
MOST_URLS = 3


def domain(name: str, state: str) -> Mapping[str, Any]:
    """Describe a domain as GET /v4/domains does."""
    valid = "valid" if state != "unverified" else "unknown"

    def record(kind: str, host: str, value: str) -> Mapping[str, Any]:
        cached = [value] if valid == "valid" else []
        return {
            "is_active": valid == "valid",
            "cached": cached,
            "name": host,
            "record_type": kind,
            "valid": valid,
            "value": value,
        }

    return {
        "domain": {
            "id": "5f00000000000000000000aa",
            "name": name,
            "state": state,
            "type": "sandbox" if name.startswith("sandbox") else "custom",
            "is_disabled": state == "disabled",
            "created_at": "Mon, 01 Jun 2026 10:00:00 GMT",
            "web_prefix": "email",
            "web_scheme": "https",
            "wildcard": False,
            "spam_action": "disabled",
            "smtp_login": f"postmaster@{name}",
            "require_tls": False,
            "skip_verification": False,
            "use_automatic_sender_security": False,
            "message_ttl": 86400,
        },
        "sending_dns_records": [
            record("TXT", name, "v=spf1 include:mailgun.org ~all"),
            record("TXT", f"s1._domainkey.{name}", "k=rsa; p=EXAMPLE"),
            record("CNAME", f"email.{name}", "mailgun.org"),
        ],
        "receiving_dns_records": [
            {
                "is_active": True,
                "cached": [],
                "priority": "10",
                "record_type": "MX",
                "valid": "unknown",
                "value": "mxa.mailgun.org",
            }
        ],
    }


def sending_queues(state: str) -> Mapping[str, Any]:
    """Describe a domain's queues as GET /v3/domains/NAME/sending_queues does."""
    if state != "disabled":
        return {"regular": {"is_disabled": False}, "scheduled": {"is_disabled": False}}
    disabled = {
        "until": "Fri, 01 Jan 2100 00:00:00 UTC",
        "reason": "You have too many messages in queue",
    }
    return {"regular": {"is_disabled": True, "disabled": disabled}, "scheduled": {"is_disabled": False}}


TRACKING: Mapping[str, Any] = {
    "tracking": {
        "open": {"active": True},
        "click": {"active": True},
        "unsubscribe": {"active": False, "html_footer": "", "text_footer": ""},
        "web_scheme": "https",
    }
}


class Registrations:
    """The addresses that want a domain's events, by type."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._urls: dict[str, dict[str, list[str]]] = {}

    def targets(self, name: str, kind: str) -> list[str]:
        """Return the addresses registered for a type."""
        if not self._urls:
            return []
        with self._lock:
            return list(self._urls.get(name, {}).get(kind, ()))

    def has_any(self, name: str) -> bool:
        """Say whether anything is registered for a domain."""
        return any(self._urls.get(name, {}).values())

    def listed(self, name: str) -> Mapping[str, Any]:
        """Return every type of a domain, with its addresses or null."""
        found = {kind: self.targets(name, kind) for kind in TYPES}
        return {"webhooks": {kind: {"urls": urls} if urls else None for kind, urls in found.items()}}

    def set(self, name: str, kind: str, urls: list[str]) -> None:
        """Replace a type's addresses."""
        with self._lock:
            self._urls.setdefault(name, {})[kind] = list(dict.fromkeys(urls))

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._urls.clear()

    def one_type(self, method: str, name: str, kind: str, form: Form) -> Reply:
        """Answer v3: one type, up to three addresses."""
        known, urls = self.targets(name, kind), form.fields.get("url", [])
        if kind not in TYPES:
            return json_reply({"message": f"Invalid webhook type {kind!r}"}, 400)
        if method == "GET":
            if not known:
                return json_reply({"message": "Webhook not found"}, 404)
            return json_reply({"webhook": {"urls": known}})
        if method == "DELETE":
            self.set(name, kind, [])
            return json_reply({"message": "Webhook has been deleted", "webhook": {"urls": known}})
        if not urls or len(urls) > MOST_URLS:
            return json_reply({"message": f"From 1 to {MOST_URLS} parameters 'url' are needed"}, 400)
        if method == "POST" and known:
            return json_reply({"message": "Webhook already exists"}, 400)
        self.set(name, kind, urls)
        verb = "created" if method == "POST" else "updated"
        return json_reply({"message": f"Webhook has been {verb}", "webhook": {"urls": urls}})

    def one_url(self, method: str, name: str, form: Form, url: str) -> Reply:
        """Answer v4: one address, any types."""
        kinds = form.fields.get("event_types", [])
        wanted = [kind for value in kinds for kind in value.split(",") if kind]
        if not url or (method != "DELETE" and not wanted) or set(wanted) - set(TYPES):
            return json_reply({"message": "url and event_types are needed"}, 400)
        for kind in TYPES:
            others = [known for known in self.targets(name, kind) if known != url or method == "POST"]
            self.set(name, kind, [*others, url] if kind in wanted and method != "DELETE" else others)
        return json_reply(self.listed(name))
