"""Callers of the API, by the token that they hold."""

import json
from typing import Any

import pytest
from django.test import Client

from campaigns.models import SenderDomain, Stream
from mailkoenig.api import services
from mailkoenig.api.models import ApiToken
from tests.factories import SenderDomainFactory

RECEIPT = {
    "stream": "receipts",
    "idempotency_key": "order-1842:receipt:v1",
    "to": "Ada <ada@example.com>",
    "subject": "Your receipt",
    "text": "Thank you",
}


class Caller:
    """Somebody with a token, or without one."""

    def __init__(self, secret: str = "") -> None:
        self.client = Client(headers={"authorization": f"Bearer {secret}"} if secret else {})

    def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """Send a request with a JSON body; returns Django's response."""
        return self.client.generic(
            method, f"/api/v1/{path}", b"" if body is None else as_json(body), "application/json", **more
        )

    def post(self, **changes: Any) -> Any:
        """Post a receipt with other fields."""
        return self("POST", "messages", {**RECEIPT, **changes})


def as_json(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def make_token(*, streams: tuple[str, ...] = (), **fields: Any) -> str:
    """Make a token that holds these streams; returns its secret."""
    fields.setdefault("name", f"shop{ApiToken.objects.count()}")
    return services.create_token(
        ApiToken(**fields), streams=Stream.objects.filter(name__in=streams), by="the tests"
    )


def caller(*streams: str, **fields: Any) -> Caller:
    """Return a caller whose token holds these streams."""
    return Caller(make_token(streams=streams, **fields))


@pytest.fixture
def domain() -> SenderDomain:
    return SenderDomainFactory.create(name="mg.example.com", is_shared=True)


@pytest.fixture
def shop(domain: SenderDomain) -> Caller:
    """A shop that writes and reads receipts."""
    return caller("receipts")
