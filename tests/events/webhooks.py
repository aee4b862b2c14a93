"""Webhooks as Mailgun would post them."""

import json
import secrets
import time
from pathlib import Path
from typing import Any

from mailkoenig.lib.signing import sign

KEY = "mail-koenig-test-signing-key"
PARENT_KEY = "mail-koenig-parent-signing-key"
PAYLOADS = Path(__file__).parent / "payloads"


def sample(name: str) -> dict[str, Any]:
    """Return the event of a sample payload."""
    event: dict[str, Any] = json.loads((PAYLOADS / f"{name}.json").read_text())["event-data"]
    return event


def signature(*, key: str = KEY, age: float = 0, token: str = "") -> dict[str, str]:
    """Return a signature that Mailgun could have made `age` seconds ago."""
    timestamp, token = str(int(time.time() - age)), token or secrets.token_hex(25)
    return {"timestamp": timestamp, "token": token, "signature": sign(timestamp + token, key=key)}


def signed(event: object, *, key: str = KEY, age: float = 0, token: str = "") -> bytes:
    """Return the body of a webhook with this event."""
    return json.dumps({"signature": signature(key=key, age=age, token=token), "event-data": event}).encode()


def template(name: str) -> bytes:
    """Return a payload whose text matters to the letter, with its places filled."""
    text = (PAYLOADS / f"{name}.json").read_text()
    made = signature()
    for place, value in (("TS", made["timestamp"]), ("TOKEN", made["token"]), ("SIG", made["signature"])):
        text = text.replace(f"@{place}@", value)
    return text.replace("@MSGID@", "none@example.com").encode()
