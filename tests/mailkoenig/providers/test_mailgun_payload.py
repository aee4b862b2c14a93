"""What one event says, wherever it came from."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailkoenig.providers.mailgun.payload import event
from mailkoenig.providers.types import EventType, ProviderEvent
from tests.events.webhooks import PAYLOADS, sample

# Shortly after the moments of the samples.
NOW = datetime.fromtimestamp(1_790_030_000, UTC)
BATCH = UUID("0b5f7c1e-6a43-4d6e-9a55-3d1f0c2b7e10")
TEXT = st.text(alphabet='a1é<>@. -/\x00\ud83d\u0663{}[]"', max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    *(
        "event",
        "id",
        "timestamp",
        "@timestamp",
        "recipient",
        "severity",
        "reason",
        "user-variables",
        "domain",
    ),
    *("message", "delivery-status", "client-info", "reject", "url"),
]


def spoken(payload: dict[str, Any], *, received_at: datetime = NOW) -> ProviderEvent:
    return event(payload, received_at=received_at)


def test_a_delivered_sample_says_all_it_has() -> None:
    payload = sample("webhook-delivered")

    assert spoken(payload) == ProviderEvent(
        provider="mailgun",
        domain="mg.example.com",
        event_id="ccf0800cdca465eef0ff40",
        type=EventType.DELIVERED,
        occurred_at=datetime.fromtimestamp(1_790_000_003.5, UTC),
        address="ada@example.com",
        payload=payload,
        batch=BATCH,
        recipient=90210,
        campaign=42,
        message_id=f"{BATCH}@mg.example.com",
    )


@pytest.mark.parametrize(
    ("name", "is_machine"),
    [("opened-human", False), ("opened-apple-mpp", True), ("clicked", False), ("clicked-scanner", True)],
)
def test_a_bot_is_no_person(name: str, is_machine: bool) -> None:
    assert spoken(sample(f"webhook-{name}")).is_machine is is_machine


@pytest.mark.parametrize(
    ("list_name", "suppression"),
    [("bounce", "bounced"), ("complaint", "complained"), ("unsubscribe", "unsubscribed")],
)
def test_the_providers_own_list_is_named(list_name: str, suppression: str) -> None:
    assert spoken(sample(f"webhook-failed-permanent-suppress-{list_name}")).suppression == suppression


def test_an_item_of_the_events_api_is_the_event_of_its_webhook() -> None:
    items = json.loads((PAYLOADS / "api-events-page.json").read_text())["items"]

    assert [spoken(item) for item in items[:2]] == [
        spoken(sample("webhook-accepted")),
        spoken(sample("webhook-delivered")),
    ]


def test_a_rejected_item_names_its_reader_in_the_header_only() -> None:
    payload = json.loads((PAYLOADS / "api-events-rejected.json").read_text())["items"][0]

    rejected = event(payload, received_at=NOW, domain="sandbox0.mailgun.org")

    assert (rejected.type, rejected.address, rejected.domain) == (
        EventType.REJECTED,
        "ada@example.com",
        "sandbox0.mailgun.org",
    )
    assert "test purposes only" in rejected.reason


@pytest.mark.parametrize(
    ("variables", "batch", "recipient"),
    [
        ({"batch": str(BATCH), "rid": "7"}, BATCH, 7),
        ({"batch": str(BATCH).upper(), "rid": 7}, BATCH, 7),
        (json.dumps({"batch": str(BATCH), "rid": "7"}), BATCH, 7),
        ("no json", None, None),
        ("[" * 100_000, None, None),
        (None, None, None),
        ([], None, None),
        ({}, None, None),
        ({"batch": "no uuid", "rid": "%recipient.rid%"}, None, None),
        ({"batch": 5, "rid": True}, None, None),
        ({"batch": ["x"], "rid": "-1"}, None, None),
        ({"rid": 2**63}, None, None),
        ({"rid": "9" * 5000}, None, None),
        ({"rid": "٣"}, None, None),
        ({"rid": 1.5}, None, None),
    ],
)
def test_our_variables_come_back_in_any_form(
    variables: object, batch: UUID | None, recipient: int | None
) -> None:
    found = spoken({"event": "delivered", "user-variables": variables})

    assert (found.batch, found.recipient) == (batch, recipient)


def test_without_variables_the_message_id_names_the_batch() -> None:
    delayed = spoken(sample("webhook-failed-permanent-delayed-bounce"))

    assert (delayed.batch, delayed.recipient) == (BATCH, None)


@pytest.mark.parametrize("written", ["<a.b@example.com>", " a.b@example.com ", "a.b@example.com"])
def test_a_message_id_has_no_brackets(written: str) -> None:
    assert spoken({"message": {"headers": {"message-id": written}}}).message_id == "a.b@example.com"


@pytest.mark.parametrize("timestamp", [1_790_000_000.5, "1790000000.5", "2026-09-21T14:13:20.500000Z"])
def test_a_moment_may_be_written_in_three_ways(timestamp: object) -> None:
    assert spoken({"timestamp": timestamp}).occurred_at == datetime.fromtimestamp(1_790_000_000.5, UTC)


@pytest.mark.parametrize(
    "timestamp", [None, True, "", "soon", -5, 0, 1e18, 1e308, "9" * 400, "NaN", [], {}, 1_890_000_000]
)
def test_an_absurd_moment_is_replaced_by_that_of_the_signature(timestamp: object) -> None:
    assert spoken({"timestamp": timestamp}).occurred_at == NOW


def test_a_missing_id_is_the_same_for_the_same_event_only() -> None:
    payload = sample("webhook-clicked")
    del payload["id"]
    other = {**payload, "url": "https://www.example.com/other"}

    assert spoken(payload).event_id == spoken(dict(payload)).event_id != spoken(other).event_id


@pytest.mark.parametrize("written", ["Ada@Example.COM", " ada@example.com", "Ada <ada@example.com>"])
def test_an_address_is_normalised(written: str) -> None:
    assert spoken({"recipient": written}).address == "ada@example.com"


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON)))
def test_any_payload_is_some_event(payload: dict[str, Any]) -> None:
    found = spoken(payload)

    assert found.event_id
    assert len(found.event_id) <= 200
    assert len(found.address) <= 320
