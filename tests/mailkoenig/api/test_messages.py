"""Messages by HTTP: written once under a key, looked up, taken back."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db.models.functions import Now

from campaigns import services
from campaigns.models import Attachment, Message, SentMessage, Stream
from contacts import services as contacts
from contacts.models import Suppression
from tests.mailkoenig.api.conftest import RECEIPT, Caller, caller

pytestmark = pytest.mark.django_db


def fields(answer: Any) -> list[str]:
    """Return the fields that a problem document names."""
    return [error["field"] for error in answer.json()["errors"]]


def test_a_message_is_ready_and_says_how_it_stands(shop: Caller) -> None:
    answer = shop.post(metadata={"order": 1842}, tags=["spring"], reply_to="help@example.com")

    message = Message.objects.get()
    assert answer.status_code == 201
    assert answer.json() == {
        "id": message.pk,
        "idempotency_key": "order-1842:receipt:v1",
        "stream": "receipts",
        "to": "ada@example.com",
        "subject": "Your receipt",
        "status": "pending",
        "reason": "",
        "attempts": 0,
        "created_at": message.created_at.isoformat(),
        "send_at": message.next_attempt_at.isoformat(),
        "accepted_at": None,
        "delivered_at": None,
        "expires_at": None,
        "tags": ["spring"],
        "metadata": {"order": 1842},
    }
    assert message.source == "API token shop0"
    assert message.name == "Ada"


def test_the_same_key_and_content_gets_the_same_answer(shop: Caller) -> None:
    first = shop.post()
    again = shop.post(send_at="2027-03-29T09:00:00+02:00")

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert Message.objects.count() == 1


def test_the_same_key_with_other_content_is_a_conflict(shop: Caller) -> None:
    shop.post()
    answer = shop.post(subject="Another")

    assert answer.status_code == 409
    assert answer.json()["type"].endswith("#key-taken")
    assert fields(answer) == ["idempotency_key"]


def test_a_key_is_known_after_its_message_is_gone(shop: Caller) -> None:
    shop.post(tags=["spring"])
    kept = Message.objects.get()
    SentMessage.objects.create(idempotency_key=kept.idempotency_key, digest=kept.digest, batch_id=uuid4())
    kept.delete()

    again, other = shop.post(tags=["spring"]), shop.post(subject="Another")

    assert (again.status_code, other.status_code) == (200, 409)
    known = {"id": None, "status": "sent", "to": "ada@example.com", "stream": "receipts", "tags": ["spring"]}
    assert known.items() <= again.json().items()


def test_the_key_may_stand_in_the_header(shop: Caller) -> None:
    body = {name: value for name, value in RECEIPT.items() if name != "idempotency_key"}
    answer = shop("POST", "messages", body, headers={"Idempotency-Key": "order-7/ü:v1"})
    latin = shop(
        "POST", "messages", body, headers={"Idempotency-Key": "order-7/ü:v1".encode().decode("latin-1")}
    )

    assert (answer.status_code, latin.status_code) == (201, 200)
    assert answer.json()["idempotency_key"] == "order-7/ü:v1"


def test_two_keys_that_differ_and_no_key_are_refused(shop: Caller) -> None:
    two = shop("POST", "messages", RECEIPT, headers={"Idempotency-Key": "another"})
    none = shop.post(idempotency_key=None)

    assert [answer.status_code for answer in (two, none)] == [422, 422]
    assert fields(two) == fields(none) == ["idempotency_key"]
    assert not Message.objects.exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"to": "nobody"}, "to"),
        ({"subject": ""}, "subject"),
        ({"subject": "two\nlines"}, "subject"),
        ({"text": ""}, "html"),
        ({"template": "none", "subject": "", "text": ""}, "template"),
        ({"idempotency_key": "campaign-7:x"}, "idempotency_key"),
        ({"from": "nobody"}, "from"),
        ({"headers": {"Bcc": "a@example.com"}}, "headers"),
        ({"send_at": 7}, "send_at"),
        ({"send_at": "2027-03-29T09:00:00"}, "send_at"),
        ({"expires_at": "2020-03-29T09:00:00Z"}, "expires_at"),
        ({"tags": ["ü"]}, "tags"),
        ({"attachments": [{"name": "a.pdf", "content": "%%%"}]}, "attachments.0.content"),
        ({"attachments": [{"name": "a/b", "content": ""}]}, "attachments"),
        ({"subjekt": "x"}, "subjekt"),
        ({"subject": "a\0b"}, "subject"),
        ({"metadata": {"a": ["x", "\ud800"]}}, "metadata.a.1"),
        ({"variables": {"x": 1}}, "variables"),
    ],
)
def test_what_is_wrong_is_named(shop: Caller, change: dict[str, Any], field: str) -> None:
    answer = shop.post(**change)

    assert (answer.status_code, fields(answer)) == (422, [field])
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert not Message.objects.exists()


def test_an_attachment_comes_in_base64(shop: Caller) -> None:
    file = {
        "name": "receipt.pdf",
        "content_type": "application/pdf",
        "content": base64.b64encode(b"%PDF").decode(),
    }
    answer = shop.post(attachments=[file])

    assert answer.status_code == 201
    kept = Attachment.objects.get()
    assert (kept.name, kept.content_type, bytes(kept.content)) == ("receipt.pdf", "application/pdf", b"%PDF")


def test_a_message_is_found_by_id_and_by_key(shop: Caller) -> None:
    made = shop.post(idempotency_key="order/18:42//receipt?v=1 ü").json()

    by_id = shop("GET", f"messages/{made['id']}")
    by_key = shop("GET", "messages/by-key/order/18:42//receipt%3Fv=1%20%C3%BC")
    escaped = shop("GET", "messages/by-key/order%2F18%3A42%2F%2Freceipt%3Fv%3D1%20%C3%BC")

    assert by_id.json() == by_key.json() == escaped.json() == made


@pytest.mark.parametrize(
    "path",
    ["messages/1", "messages/99999999999999999999999", "messages/by-key/none", "messages/by-key/a%00b"],
)
def test_what_is_not_there_is_said_so(shop: Caller, path: str) -> None:
    answer = shop("GET", path)

    assert answer.status_code == 404
    assert answer.json()["status"] == 404


def test_it_is_taken_back_while_it_is_ready_only(shop: Caller) -> None:
    id = shop.post().json()["id"]
    late = shop.post(idempotency_key="late").json()["id"]
    Message.objects.filter(pk=late).update(status="sent", sent_at=Now())

    answers = [shop("POST", f"messages/{each}/cancel") for each in (id, id, late)]

    assert [answer.status_code for answer in answers] == [200, 200, 409]
    assert answers[0].json()["status"] == "cancelled"
    assert answers[0].json()["reason"] == "Cancelled by API token shop0."
    assert answers[2].json()["detail"].startswith("It is accepted")


def test_pages_are_stable_while_messages_come_in(shop: Caller) -> None:
    made = [shop.post(idempotency_key=f"k{number}").json()["id"] for number in range(5)]
    first = shop("GET", "messages?limit=2").json()
    shop.post(idempotency_key="later")
    second = shop("GET", f"messages?limit=2&cursor={first['next']}").json()
    third = shop("GET", f"messages?limit=2&cursor={second['next']}").json()

    seen = [item["id"] for page in (first, second, third) for item in page["items"]]
    assert seen == made[::-1]
    assert third["next"] is None


def test_a_list_is_filtered(shop: Caller) -> None:
    shop.post(idempotency_key="a", to="a@example.com")
    cancelled = shop.post(idempotency_key="b", to="b@example.com").json()["id"]
    shop("POST", f"messages/{cancelled}/cancel")

    def keys(query: str) -> list[str]:
        return [item["idempotency_key"] for item in shop("GET", f"messages?{query}").json()["items"]]

    assert keys("status=cancelled") == ["b"]
    assert keys("to=A@example.com") == ["a"]
    assert keys("stream=receipts&status=pending") == ["a"]
    assert keys("to=nobody@example.com") == []


@pytest.mark.parametrize("query", ["limit=201", "limit=0", "cursor=x", "status=gone", "to=x", "to=%00"])
def test_a_query_that_makes_no_sense_is_refused(shop: Caller, query: str) -> None:
    answer = shop("GET", f"messages?{query}")

    assert answer.status_code == 422
    assert answer.json()["errors"]


def suppress(address: str, reason: Suppression.Reason) -> None:
    scope = Suppression.Scope.MARKETING if reason == "unsubscribed" else Suppression.Scope.ALL
    contacts.suppress(address=address, reason=reason, scope=scope, source="test")


def test_c57_who_left_gets_a_receipt_and_a_dead_address_is_refused_clearly(shop: Caller) -> None:
    for reason in ("unsubscribed", "bounced", "complained"):
        suppress(f"{reason}@example.com", Suppression.Reason(reason))

    def ask(who: str) -> Any:
        return shop.post(idempotency_key=who, to=f"{who}@example.com")

    assert [ask(who).status_code for who in ("unsubscribed", "unknown")] == [201, 201]
    for who in ("bounced", "complained"):
        first, again = ask(who), ask(who)
        kept = Message.objects.get(idempotency_key=who)
        assert (first.status_code, first.json()) == (again.status_code, again.json())
        document = first.json()
        assert first.status_code == 422
        assert document["type"].endswith("#suppressed")
        assert document["reason"] == who
        assert document["errors"] == [{"field": "to", "message": f"suppressed: {who}"}]
        assert document["message"] == {"id": kept.pk, "idempotency_key": who, "status": "skipped"}


def test_c57_a_complaint_follows_the_streams_rule(domain: object) -> None:
    suppress("angry@example.com", Suppression.Reason.COMPLAINED)
    Stream.objects.filter(name="password-resets").update(sends_to_complainers=True)
    site = caller("receipts", "password-resets")

    answers = [
        site.post(stream=stream, idempotency_key=stream, to="angry@example.com")
        for stream in ("receipts", "password-resets")
    ]

    assert [answer.status_code for answer in answers] == [422, 201]


def test_c57_a_campaign_is_no_receipt(domain: object) -> None:
    anything, campaigner = caller(all_streams=True), caller("campaigns")

    answers = [each.post(stream="campaigns") for each in (anything, campaigner)]

    assert [answer.status_code for answer in answers] == [403, 422]
    assert [fields(answer) for answer in answers] == [["stream"], ["stream"]]
    assert not Message.objects.exists()


def test_a_token_uses_and_sees_only_the_streams_that_it_holds(shop: Caller) -> None:
    other = caller("password-resets")
    id = shop.post().json()["id"]

    assert other.post().status_code == 403
    assert other("GET", f"messages/{id}").status_code == 404
    assert other("GET", "messages/by-key/order-1842:receipt:v1").status_code == 404
    assert other("POST", f"messages/{id}/cancel").status_code == 404
    assert other("GET", "messages?stream=receipts").status_code == 403
    assert other("GET", "messages").json()["items"] == []
    assert Message.objects.get().status == "pending"


def test_all_streams_are_the_transactional_ones(domain: object) -> None:
    anything, nothing = caller(all_streams=True), caller()

    assert anything.post().status_code == 201
    assert nothing.post(idempotency_key="another").status_code == 403


def test_a_drained_stream_takes_nothing_new_but_knows_its_keys(shop: Caller) -> None:
    shop.post()
    Stream.objects.filter(name="receipts").update(draining=True)

    assert shop.post().status_code == 200
    assert fields(shop.post(idempotency_key="new")) == ["stream"]


def test_a_later_moment_is_kept(shop: Caller) -> None:
    day = f"{datetime.now(UTC) + timedelta(days=30):%Y-%m-%d}"

    answer = shop.post(send_at=f"{day}T09:00:00+02:00", expires_at=f"{day}T10:00:00+02:00").json()

    assert (answer["send_at"], answer["expires_at"]) == (f"{day}T07:00:00+00:00", f"{day}T08:00:00+00:00")


def test_a_stream_that_is_being_drained_asks_for_the_same_again_later(shop: Caller) -> None:
    stream = Stream.objects.get(name="receipts")
    services.drain_stream(stream, by="ada")
    refused = shop.post()

    assert refused.status_code == 503
    assert int(refused.headers["Retry-After"]) > 0
    assert refused.json()["type"].endswith("#not-now")
    assert refused.json()["errors"][0]["field"] == "stream"

    services.undrain_stream(stream, by="ada")
    assert shop.post().status_code == 201
