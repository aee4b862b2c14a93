"""Events in the provider's documented shape."""

import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from mailkoenig.simulator.records import Content, Message

Event = dict[str, Any]
LINK = re.compile(r"""href=["'](https?://[^"'<>\s]+)["']""", re.IGNORECASE)
SUPPRESSED: Mapping[str, tuple[str, int, str]] = {
    "bounces": ("suppress-bounce", 605, "Not delivering to previously bounced address"),
    "unsubscribes": ("suppress-unsubscribe", 606, "Not delivering to unsubscribed address"),
    "complaints": ("suppress-complaint", 607, "Not delivering to a user who marked your messages as spam"),
}
LEVELS = {"failed": "error", "temporary": "warn", "complained": "warn"}
PERSON = {
    "client-name": "Firefox",
    "client-os": "Linux",
    "client-type": "browser",
    "device-type": "desktop",
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "bot": "",
}
MACHINE = {
    "client-name": "unknown",
    "client-os": "unknown",
    "client-type": "unknown",
    "device-type": "unknown",
    "user-agent": "Mozilla/5.0",
    "bot": "apple",
}


def identity(message: Message, index: int, name: str) -> str:
    """Return an event's id: the same wherever the event is read, and another for the same mail accepted again."""
    words = f"{message.message_id}\0{message.accepted_at}\0{message.number}\0{index}\0{name}"
    return blake2b(words.encode(), digest_size=11).hexdigest()


def event(name: str, message: Message, content: Content, index: int, timestamp: float) -> Event:
    """Build an event of one recipient; `name` is the event, or temporary, machine or a list for the special ones."""
    address = content.addresses[index]
    domain = address.rsplit("@", 1)[-1].lower()
    level = "error" if name in SUPPRESSED else LEVELS.get(name, "info")
    built: Event = {
        "event": NAMES.get(name, name),
        "id": identity(message, index, name),
        "timestamp": round(timestamp, 6),
        "log-level": level,
        "account": {"id": "5f0000000000000000000001"},
        "domain": {"name": message.domain},
        "recipient": address,
        "recipient-domain": domain,
        "recipient-provider": "Other",
        "tags": content.tags,
        "campaigns": [],
        "user-variables": content.variables(address),
    }
    message_id = content.personal(message.message_id, address)
    if name in ("opened", "machine", "clicked", "unsubscribed"):
        return built | engagement(name, content, address, message_id)
    built["flags"] = {
        "is-routed": False,
        "is-authenticated": True,
        "is-system-test": False,
        "is-test-mode": content.last("o:testmode").lower() in ("yes", "true"),
    }
    built["message"] = {
        "headers": {
            "to": content.visible_to(address),
            "from": content.personal(content.last("from"), address),
            "subject": content.personal(content.last("subject"), address),
            "message-id": message_id,
        },
        "attachments": [{"filename": file.filename, "size": file.size} for file in content.attachments],
        "size": content.size,
    }
    if name != "complained":
        built |= delivery(name, message, address, domain)
    return built


NAMES = {
    "temporary": "failed",
    "machine": "opened",
    "bounces": "failed",
    "unsubscribes": "failed",
    "complaints": "failed",
}


def engagement(name: str, content: Content, address: str, message_id: str) -> Event:
    """Return what only a reader's act has; its message has no header but the id."""
    built: Event = {
        "message": {"headers": {"message-id": message_id}},
        "ip": "198.51.100.7",
        "geolocation": {"country": "US", "region": "Unknown", "city": "Unknown", "timezone": "Unknown"},
        "client-info": MACHINE if name == "machine" else PERSON,
    }
    if name == "clicked":
        built["url"] = content.personal(first_link(content.last("html")), address)
    return built


@lru_cache(maxsize=64)
def first_link(html: str) -> str:
    """Return the link that readers click: the first that does not unsubscribe them."""
    links: list[str] = LINK.findall(html)
    return next((link for link in links if "unsub" not in link.lower()), "https://www.example.com/offer")


def delivery(name: str, message: Message, address: str, domain: str) -> Event:
    """Return what only the provider's own work has: acceptance, delivery, failure."""
    transport = {"transport": "smtp", "targets": address}
    bounces_to = {**transport, "sender": f"bounce+0a1b2c@{message.domain}"}
    storage = f"SIM{message.number:08d}"
    built: Event = {
        "storage": {
            "region": "us-west1",
            "env": "production",
            "key": storage,
            "url": f"https://storage-us-west1.api.mailgun.net/v3/domains/{message.domain}/messages/{storage}",
        }
    }
    session = {
        "attempt-no": 1,
        "description": "",
        "mx-host": f"mx.{domain}",
        "tls": True,
        "certificate-verified": True,
        "utf8": True,
        "session-seconds": 0.612,
    }
    sent = {**bounces_to, "sending-ip": "192.0.2.20"}
    if name == "accepted":
        return built | {
            "method": "HTTP",
            "api-key-id": "12345678-87654321",
            "originating-ip": "203.0.113.10",
            "envelope": bounces_to,
        }
    if name == "delivered":
        status = {**session, "code": 250, "message": "OK", "enhanced-code": ""}
        return built | {
            "envelope": sent,
            "primary-dkim": f"s1._domainkey.{message.domain}",
            "delivery-status": {**status, "first-delivery-attempt-seconds": 0.2},
        }
    if name == "temporary":
        status = {**session, "code": 451, "enhanced-code": "4.7.1", "message": "4.7.1 Try again later"}
        return built | {
            "severity": "temporary",
            "reason": "generic",
            "envelope": sent,
            "delivery-status": {**status, "retry-seconds": 600},
        }
    if name in SUPPRESSED:
        reason, code, description = SUPPRESSED[name]
        status = {"attempt-no": 1, "code": code, "message": "", "session-seconds": 0.0}
        return built | {
            "severity": "permanent",
            "reason": reason,
            "envelope": bounces_to,
            "delivery-status": {**status, "description": description},
        }
    status = {**session, "code": 550, "enhanced-code": "5.1.1", "message": "5.1.1 User unknown"}
    return built | {
        "severity": "permanent",
        "reason": "bounce",
        "envelope": sent,
        "delivery-status": {**status, "bounce-type": "hard"},
    }
