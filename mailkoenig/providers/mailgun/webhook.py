"""Mailgun's webhook: is it really from Mailgun, and what does it say? Pure; the clock is an argument."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from mailkoenig.lib.signing import matches
from mailkoenig.lib.storable import NotStorable, loads
from mailkoenig.providers.mailgun import payload
from mailkoenig.providers.types import ProviderEvent

LONGEST_TOKEN = 100
# The default of domains registered long ago; the fields have other names and no stable identity.
LEGACY_TYPES = {"application/x-www-form-urlencoded", "multipart/form-data"}


class Forged(Exception):
    """No key of ours made the signature, or it is too old or from the future; the message says which."""


class Unreadable(Exception):
    """It will never be read, however often it is sent again; the message says why."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What a signature was used for. Mailgun signs time and token, not the body, so we remember both."""

    token: str
    body_digest: bytes


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook that is really Mailgun's."""

    event: ProviderEvent
    proof: Proof


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads webhooks signed by one of `keys`, not older than `max_age` and not further ahead than `max_ahead`."""

    keys: list[str]
    max_age: timedelta
    max_ahead: timedelta

    def read(self, body: bytes, *, content_type: str, now: datetime) -> Delivery:
        """Return what a request says, or raise Forged or Unreadable."""
        if content_type in LEGACY_TYPES:
            raise Unreadable("it is a legacy webhook: register the current webhooks (v3 or later) in Mailgun")
        try:
            content = loads(body)
        except NotStorable as error:
            raise Unreadable(str(error)) from error
        if not isinstance(content, dict):
            raise Unreadable("it is no JSON object")
        signed_at, token = self.verify(payload.section(content, "signature"), now=now)
        if not isinstance(content.get("event-data"), dict):
            raise Unreadable("it holds no event-data")
        return Delivery(
            event=payload.event(content["event-data"], received_at=signed_at),
            proof=Proof(token=token, body_digest=hashlib.sha256(body).digest()),
        )

    def verify(self, signature: Mapping[str, object], *, now: datetime) -> tuple[datetime, str]:
        """Return when and with which token it was signed; a subaccount's webhook may carry its parent's signature too."""
        timestamp, token = signature.get("timestamp"), signature.get("token")
        if not isinstance(timestamp, str) or not isinstance(token, str):
            raise Forged("it carries no signature")
        if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 11):
            raise Forged("its time is no number of seconds")
        if not (0 < len(token) <= LONGEST_TOKEN and token.isascii() and token.isprintable()):
            raise Forged("its token is no token")
        given = (signature.get("signature"), signature.get("parent-signature"))
        if not any(matches(value, text=timestamp + token, keys=self.keys) for value in given):
            raise Forged("its signature fits none of our keys")
        signed_at = datetime.fromtimestamp(int(timestamp), UTC)
        if now - signed_at > self.max_age:
            raise Forged("its signature is too old")
        if signed_at - now > self.max_ahead:
            raise Forged("its signature is from the future")
        return signed_at, token
