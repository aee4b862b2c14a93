"""The API against its own description."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from hypothesis import HealthCheck, Phase, settings
from schemathesis.config import SchemathesisConfig

from campaigns.models import Campaign, Message, SenderDomain
from contacts.models import Contact
from mailkoenig.api.api import api
from mailkoenig.middleware import POLICY
from tests.mailkoenig.api.conftest import make_token

pytestmark = pytest.mark.django_db


def config() -> SchemathesisConfig:
    """Ask for the same requests each time, few of them, and no more than the description promises."""
    return SchemathesisConfig.from_dict(
        {
            "seed": 1,
            "generation": {"mode": "all", "deterministic": True, "max-examples": 10, "database": "none"},
            # What fits the types may still be refused for what it says.
            "checks": {"positive_data_acceptance": {"enabled": False}},
            "phases": {"coverage": {"enabled": False}, "stateful": {"enabled": False}},
        }
    )


@pytest.fixture
def everything(domain: SenderDomain) -> Iterator[str]:
    """The secret of a token that may do everything. The end of a request leaves the test's connection alone."""
    ends = (request_started, request_finished)
    for signal in ends:
        signal.disconnect(close_old_connections)
    yield make_token(
        streams=("campaigns",),
        all_streams=True,
        holds_contacts=True,
        can_stop_sending=True,
        rate_per_minute=100_000,
    )
    for signal in ends:
        signal.connect(close_old_connections)


def described() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(Client().get("/api/v1/openapi.json").content)
    return document


def test_every_operation_names_its_problems_and_its_token() -> None:
    document = described()
    operations = [each for methods in document["paths"].values() for each in methods.values()]

    assert document["openapi"].startswith("3.")
    assert len(operations) > 25
    for operation in operations:
        assert {"401", "403", "404", "422", "429", "503"} <= operation["responses"].keys()
        assert operation["security"] == [{"Token": []}]
        assert operation["description"]
    assert document["components"]["securitySchemes"]["Token"] == {"type": "http", "scheme": "bearer"}


def test_the_page_needs_nobody_elses_server_and_no_weaker_policy() -> None:
    page = Client().get("/api/v1/docs")
    text = page.content.decode()

    assert page.headers["Content-Security-Policy"] == POLICY
    assert "Settings" in text
    assert "API tokens" in text
    assert "//" not in text.replace("http://www.w3.org", "").replace("<!DOCTYPE html>", "")
    assert "<script>" not in text


DESCRIPTION = schemathesis.openapi.from_dict(api.get_openapi_schema(), config=config())
DESCRIPTION.app = WSGIHandler()


@DESCRIPTION.parametrize()
@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_whatever_is_sent_is_answered_as_described(case: "schemathesis.Case[Any]", everything: str) -> None:
    case.headers["Authorization"] = f"Bearer {everything}"
    case.call_and_validate()


@pytest.mark.parametrize(
    ("schema", "states"),
    [
        ("MessageOut", set(Message.Status.values)),
        ("ContactOut", set(Contact.Status.values)),
        ("CampaignOut", set(Campaign.Status.values)),
    ],
)
def test_each_status_is_described_by_its_own_states(schema: str, states: set[str]) -> None:
    field = described()["components"]["schemas"][schema]["properties"]["status"]

    assert set(field["enum"]) == states
