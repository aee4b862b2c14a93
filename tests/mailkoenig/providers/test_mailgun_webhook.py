"""Mailgun's webhooks: whose they are, and what they say."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mailkoenig.providers.mailgun.webhook import Delivery, Forged, Reader, Unreadable
from mailkoenig.providers.types import EventType
from tests.events.webhooks import KEY, PARENT_KEY, PAYLOADS, sample, signature, signed

# Shortly after the moments of the samples.
NOW = datetime.fromtimestamp(1_790_030_000, UTC)
READER = Reader(keys=["an-older-key", KEY], max_age=timedelta(hours=24), max_ahead=timedelta(minutes=5))
BATCH = UUID("0b5f7c1e-6a43-4d6e-9a55-3d1f0c2b7e10")


def read(body: bytes, *, content_type: str = "application/json", reader: Reader = READER) -> Delivery:
    return reader.read(body, content_type=content_type, now=datetime.now(UTC))


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
