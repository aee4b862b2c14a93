"""Mailgun's webhooks: whose they are, and what they say."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailkoenig.providers.mailgun.payload import event
from mailkoenig.providers.mailgun.webhook import Delivery, Forged, Reader, Unreadable
from mailkoenig.providers.types import EventType, ProviderEvent
from tests.events.webhooks import KEY, PARENT_KEY, PAYLOADS, sample, signature, signed

# Shortly after the moments of the samples.
NOW = datetime.fromtimestamp(1_790_030_000, UTC)
READER = Reader(keys=["an-older-key", KEY], max_age=timedelta(hours=24), max_ahead=timedelta(minutes=5))
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


def read(body: bytes, *, content_type: str = "application/json", reader: Reader = READER) -> Delivery:
    return reader.read(body, content_type=content_type, now=datetime.now(UTC))


def spoken(payload: dict[str, Any], *, received_at: datetime = NOW) -> ProviderEvent:
    return event(payload, received_at=received_at)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("accepted", EventType.ACCEPTED),
        ("delivered", EventType.DELIVERED),
        ("opened-human", EventType.OPENED),
        ("opened-apple-mpp", EventType.OPENED),
        ("clicked", EventType.CLICKED),
        ("clicked-scanner", EventType.CLICKED),
        ("unsubscribed", EventType.UNSUBSCRIBED),
        ("complained", EventType.COMPLAINED),
        ("failed-temporary", EventType.DEFERRED),
        ("failed-permanent-bounce", EventType.BOUNCED),
        ("failed-permanent-delayed-bounce", EventType.BOUNCED),
        ("failed-permanent-old", EventType.REJECTED),
        ("failed-permanent-suppress-bounce", EventType.SUPPRESSED),
        ("failed-permanent-suppress-complaint", EventType.SUPPRESSED),
        ("failed-permanent-suppress-unsubscribe", EventType.SUPPRESSED),
    ],
)
def test_each_sample_is_verified_and_understood(name: str, kind: EventType) -> None:
    delivery = READER.read(
        (PAYLOADS / f"webhook-{name}.json").read_bytes(), content_type="application/json", now=NOW
    )

    assert delivery.event.type is kind
    assert delivery.event.batch == BATCH
    assert delivery.event.domain == "mg.example.com"
    assert delivery.event.message_id == f"{BATCH}@mg.example.com"
    assert delivery.event.occurred_at < NOW


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


# Whose it is


def test_any_of_the_keys_and_the_parents_signature_will_do() -> None:
    subaccount = (PAYLOADS / "webhook-delivered-subaccount-parent-signature.json").read_bytes()
    parent = Reader(keys=["other", PARENT_KEY], max_age=READER.max_age, max_ahead=READER.max_ahead)

    for reader in (READER, parent):
        assert reader.read(subaccount, content_type="application/json", now=NOW).event.address


@pytest.mark.parametrize(
    "given",
    [
        *("", "0" * 64, "é" * 64, "\ud800", "\x00", None, 7, 1.5, True, [], {}, ["a"], {"a": "b"}),
        "upper",
    ],
)
def test_a_forged_signature_is_refused_whatever_it_is(given: object) -> None:
    made: dict[str, Any] = dict(signature())
    made["signature"] = made["signature"].upper() if given == "upper" else given

    with pytest.raises(Forged):
        read(json.dumps({"signature": made, "event-data": {}}).encode())


@pytest.mark.parametrize("key", ["timestamp", "token", "signature"])
@pytest.mark.parametrize("value", [None, "", 0, -1, "é", "\x00", [], {}, "x" * 5000, "-5", "1e5", "٣"])
def test_a_signature_with_a_broken_part_is_refused(key: str, value: object) -> None:
    made: dict[str, Any] = {**signature(), key: value}

    with pytest.raises(Forged):
        read(json.dumps({"signature": made, "event-data": {}}).encode())


@pytest.mark.parametrize("made", [None, [], "text", 5, {}])
def test_a_missing_signature_is_refused(made: object) -> None:
    with pytest.raises(Forged):
        read(json.dumps({"signature": made, "event-data": {}}).encode())


def test_no_key_at_all_admits_nothing() -> None:
    keyless = Reader(keys=[], max_age=READER.max_age, max_ahead=READER.max_ahead)

    with pytest.raises(Forged):
        read(signed({}), reader=keyless)


@pytest.mark.parametrize("age", [0, 7 * 3600, 23 * 3600, -240])
def test_a_late_retry_is_taken(age: float) -> None:
    assert read(signed(sample("webhook-delivered"), age=age))


@pytest.mark.parametrize("age", [25 * 3600, -600, -2 * 86_400])
def test_an_old_or_future_signature_is_refused(age: float) -> None:
    with pytest.raises(Forged):
        read(signed(sample("webhook-delivered"), age=age))


# What can't be read


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"null", b"[]", b"5", b"{", b"\xff", b"[" * 100_000, b'{"a":' * 100_000),
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
)
def test_what_is_no_json_object_is_unreadable(body: bytes) -> None:
    with pytest.raises(Unreadable):
        read(body)


@pytest.mark.parametrize("nested", ["[" * 500 + "]" * 500, '{"a":' * 500 + "1" + "}" * 500, "9" * 4000])
def test_what_is_too_deep_or_long_is_unreadable_under_a_valid_signature(nested: str) -> None:
    body = signed({"event": "delivered", "x": "HERE"}).replace(b'"HERE"', nested.encode())

    with pytest.raises(Unreadable):
        read(body)


@pytest.mark.parametrize("payload", [None, [], "text", 5])
def test_a_webhook_without_an_event_is_unreadable(payload: object) -> None:
    with pytest.raises(Unreadable):
        read(signed(payload))


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_legacy_webhook_says_what_to_register(content_type: str) -> None:
    with pytest.raises(Unreadable, match="register the current webhooks"):
        read(b"event=dropped&code=550", content_type=content_type)


def test_of_a_repeated_key_the_last_counts_and_nan_becomes_text() -> None:
    body = signed({"event": "opened", "n": "HERE"}).replace(b'"HERE"', b'NaN, "i": -Infinity, "big": 1e999')
    body = body.replace(b'"event": "opened"', b'"event": "opened", "event": "clicked"')

    found = read(body).event

    assert found.type is EventType.CLICKED
    assert (found.payload["n"], found.payload["i"], found.payload["big"]) == ("NaN", "-Infinity", "inf")


# What it says


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
