"""The webhook: what it answers, and what then stands in the database."""

import json
from io import BytesIO
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, connections
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from contacts.models import Contact
from events.models import Event, WebhookToken
from mailkoenig.lib.signing import sign
from tests.events.webhooks import KEY, PARENT_KEY, PAYLOADS, sample, signature, signed, template
from tests.factories import ContactFactory, RecipientFactory, SendBatchFactory
from tests.mailkoenig.providers.test_mailgun_payload import FIELDS, JSON

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Response

pytestmark = pytest.mark.django_db
URL = "/webhooks/mailgun/"
SAMPLES = sorted(path.stem for path in PAYLOADS.glob("webhook-*.json") if "bad-signature" not in path.stem)


def post(
    body: bytes, *, url: str = URL, content_type: str = "application/json", **headers: Any
) -> "Response":
    return Client(enforce_csrf_checks=True).post(url, body, content_type=content_type, **headers)


def reported(name: str, *, variables: object = None, **changes: object) -> dict[str, object]:
    """Return a sample event about another address and, as far as we know, other mail."""
    return {**sample(name), "recipient": "ida@example.com", "user-variables": variables, **changes}


def status_of(address: str = "ida@example.com") -> str:
    return Contact.objects.get(email=address).status


@pytest.mark.parametrize("url", ["/webhooks/mailgun/", "/webhooks/mailgun"])
def test_set_up_probes_are_answered_without_a_redirect(client: Client, url: str) -> None:
    assert client.get(url).status_code == 200
    assert client.head(url).status_code == 200
    assert post(signed(sample("webhook-delivered")), url=url).status_code == 200
    assert client.put(url).status_code == 405


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_is_recorded_once(name: str) -> None:
    body = signed(sample(name))

    answers = [post(body), post(body), post(signed(sample(name)))]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    event = Event.objects.get()
    assert event.raw_payload == sample(name)
    assert (event.source, event.domain) == ("webhook", "mg.example.com")


def test_a_parents_signature_is_enough() -> None:
    made = signature(key="some-subaccount-key")
    made["parent-signature"] = sign(made["timestamp"] + made["token"], key=PARENT_KEY)

    answer = post(json.dumps({"signature": made, "event-data": sample("webhook-delivered")}).encode())

    assert answer.status_code == 200


def test_an_event_finds_its_recipient_and_its_batch() -> None:
    recipient = RecipientFactory.create(contact=ContactFactory.create(email="ida@example.com"), status="sent")
    batch = SendBatchFactory.create(campaign=recipient.campaign)
    variables = {"batch": str(batch.pk), "rid": str(recipient.pk)}

    post(signed(reported("webhook-delivered", variables=variables)))

    recipient.refresh_from_db()
    batch.refresh_from_db()
    event = Event.objects.get()
    assert (event.campaign_recipient_id, event.batch_id) == (recipient.pk, batch.pk)
    assert (recipient.status, batch.evidence_at) == ("delivered", event.occurred_at)


def test_a_foreign_recipient_id_touches_nobody_else() -> None:
    other = RecipientFactory.create(status="sent")

    post(signed(reported("webhook-complained", variables={"rid": str(other.pk)})))

    other.refresh_from_db()
    assert other.status == "sent"
    assert Event.objects.get().campaign_recipient_id is None


# Forged, replayed, late


@pytest.mark.parametrize(
    "given",
    [*("", "0" * 64, "é" * 64, "\ud800", "\x00", None, 7, [], {}), "upper"],
)
def test_a_forged_signature_changes_nothing(given: object) -> None:
    ContactFactory.create(email="ida@example.com")
    made: dict[str, Any] = dict(signature())
    made["signature"] = made["signature"].upper() if given == "upper" else given

    answer = post(json.dumps({"signature": made, "event-data": reported("webhook-complained")}).encode())

    assert answer.status_code == 403
    assert (status_of(), Event.objects.count(), WebhookToken.objects.count()) == ("active", 0, 0)


def test_a_captured_signature_admits_no_other_body() -> None:
    ContactFactory.create(email="ida@example.com")
    delivered = signed(sample("webhook-delivered"), token="a" * 50)
    made = json.loads(delivered)["signature"]

    first = post(delivered)
    forged = post(json.dumps({"signature": made, "event-data": reported("webhook-complained")}).encode())
    again = post(delivered)

    assert [first.status_code, forged.status_code, again.status_code] == [200, 403, 200]
    assert (status_of(), Event.objects.count()) == ("active", 1)


@pytest.mark.parametrize(
    ("age", "expected"),
    [(600, 200), (7 * 3600, 200), (25 * 3600, 403), (-240, 200), (-600, 403), (-2 * 86_400, 403)],
)
def test_late_retries_are_taken_and_the_future_is_not(age: float, expected: int) -> None:
    assert post(signed(sample("webhook-delivered"), age=age)).status_code == expected


def test_without_keys_everything_is_refused(settings: Settings) -> None:
    settings.MAILGUN_WEBHOOK_SIGNING_KEYS = []

    assert post(signed(sample("webhook-delivered"))).status_code == 403


# Bodies that can't be read


def test_a_legacy_webhook_is_told_to_go() -> None:
    answer = post(b"event=dropped&code=550", content_type="application/x-www-form-urlencoded")

    assert (answer.status_code, b"register the current webhooks" in answer.content) == (406, True)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000])
def test_what_is_no_event_is_never_wanted_again(body: bytes) -> None:
    assert post(body).status_code == 406


def test_deep_nesting_under_a_valid_signature_is_never_wanted_again() -> None:
    body = signed({"event": "opened", "x": "HERE"}).replace(b'"HERE"', b"[" * 20_000 + b"]" * 20_000)

    assert post(body).status_code == 406


@pytest.mark.parametrize("length", [None, "5", "", "none", "-1", "99999999999999999999"])
def test_no_length_that_is_claimed_makes_us_read_more_or_fail(length: str | None, settings: Settings) -> None:
    settings.WEBHOOK_MAX_BYTES = 2000
    claimed = {} if length is None else {"CONTENT_LENGTH": length}

    assert post(b"x" * 4000, **claimed).status_code in (406, 413)
    assert post(b"x" * 4000).status_code == 413


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    event=st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON)) | JSON,
    known=st.sampled_from(SAMPLES),
)
def test_any_json_under_a_valid_signature_is_taken_or_never_wanted_again(event: object, known: str) -> None:
    mixed = {**sample(known), **event} if isinstance(event, dict) else event

    assert post(signed(event)).status_code in (200, 406)
    assert post(signed(mixed)).status_code in (200, 406)


# What PostgreSQL can't hold


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("c44_nul", "nosuch user"),
        ("c44_surrogate", "broken \ufffd emoji"),
        ("c44_literal_backslash", r"text \u0000 typed by a person"),
    ],
)
def test_an_unstorable_character_costs_no_bounce(name: str, stored: str) -> None:
    ContactFactory.create(email="ida@example.org")

    assert post(template(name)).status_code == 200

    assert status_of("ida@example.org") == "bounced"
    assert Event.objects.get().raw_payload["delivery-status"]["message"] == stored


def test_unstorable_characters_anywhere_are_taken() -> None:
    bad = "\x00\ud800a"
    event = {
        **dict.fromkeys(FIELDS, bad),
        bad: {bad: [bad, float("nan"), float("inf"), 10**500]},
        "event": "failed",
        "severity": "permanent" + bad,
    }

    assert post(signed(event)).status_code == 200


# A database that is away


@pytest.mark.django_db(transaction=True)
def test_without_a_database_the_sender_is_asked_to_come_again() -> None:
    answers: list[Response] = []

    def away() -> None:
        mine = connections["default"]
        mine.settings_dict = {**mine.settings_dict, "HOST": "127.0.0.1", "PORT": "9"}
        answers.append(post(signed(sample("webhook-delivered"))))
        mine.close()

    thread = Thread(target=away)
    thread.start()
    thread.join()

    assert (answers[0].status_code, answers[0].headers["Retry-After"]) == (503, "60")
    assert connection.settings_dict["PORT"] != "9"


def test_the_signing_key_is_never_stored_or_answered() -> None:
    assert KEY.encode() not in post(signed(sample("webhook-delivered"))).content


@pytest.mark.parametrize(
    ("body", "status"), [(signed(sample("webhook-delivered")), 200), (b"x" * 2_000_000, 413)]
)
def test_a_body_without_a_length_is_read_where_the_server_ends_it(body: bytes, status: int) -> None:
    chunked: dict[str, Any] = {
        "CONTENT_LENGTH": "",
        "wsgi.input_terminated": True,
        "wsgi.input": BytesIO(body),
    }

    assert post(b"", **chunked).status_code == status
