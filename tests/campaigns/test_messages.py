"""Messages: one mail to one person under the caller's own key."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from campaigns import housekeeping, services
from campaigns.delivery import Delivery
from campaigns.mail import MessageTurn
from campaigns.models import (
    Attachment,
    Message,
    MessageTemplate,
    SendBatch,
    SenderDomain,
    SentMessage,
    Stream,
    Tally,
)
from campaigns.services import KeyTaken, MessageRefused
from campaigns.sql import messages
from contacts import services as contacts
from contacts.models import Suppression
from mailkoenig.lib import db
from mailkoenig.providers.mailgun.client import MailgunClient
from mailkoenig.providers.types import EventType, File, ProviderEvent
from mailkoenig.simulator import Fault, Simulator
from tests.factories import SenderDomainFactory

pytestmark = pytest.mark.django_db
RECEIPT = {
    "stream": "receipts",
    "idempotency_key": "order-1842:receipt:v1",
    "to": "Ada <ada@example.com>",
    "subject": "Your receipt",
    "html": "<p>Thank you</p>",
    "text": "Thank you",
}


@pytest.fixture(autouse=True)
def domain() -> SenderDomain:
    return SenderDomainFactory.create(name="mg.example.com", is_shared=True)


def enqueue(**changes: object) -> services.Enqueued:
    return services.enqueue_message(**{**RECEIPT, **changes})  # type: ignore[arg-type]


def send_all(worker: str = "w") -> None:
    """Send what is due."""
    delivery = Delivery(provider=MailgunClient(), worker=worker, persist=lambda write: write())
    while any(
        delivery.send_one(MessageTurn(found.stream, found.domain))
        for stream in Stream.objects.all()
        for found in messages.ready(stream.pk)
    ):
        pass


def only() -> Message:
    return Message.objects.get()


def test_it_is_written_ready_in_the_callers_transaction() -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        enqueue()
        raise RuntimeError("the order failed")
    assert not Message.objects.exists()

    found = enqueue()

    assert found.is_new
    assert (found.message.status, found.message.email, found.message.name) == (
        "pending",
        "ada@example.com",
        "Ada",
    )
    assert found.message.sender == "no-reply@mg.example.com"


def test_the_same_key_and_content_is_the_first_ones_message() -> None:
    first = enqueue()

    again = enqueue(send_at=db.now(), expires_at=db.now() + timedelta(hours=1))

    assert not again.is_new
    assert again.message == first.message
    assert only().repeats == 1


@pytest.mark.parametrize(
    "change", [{"subject": "Another"}, {"to": "bob@example.com"}, {"stream": "password-resets"}]
)
def test_the_same_key_with_other_content_is_a_conflict(change: dict[str, str]) -> None:
    enqueue()

    with pytest.raises(KeyTaken, match=r"order-1842:receipt:v1"):
        enqueue(**change)

    assert only().subject == "Your receipt"


def test_it_goes_out_once_with_everything_it_says(simulator: Simulator) -> None:
    enqueue(
        headers={"X-Order": "1842"},
        reply_to="help@example.com",
        tags=["spring"],
        files=[File("receipt.pdf", "application/pdf", b"%PDF-1.7")],
        metadata={"order": 1842},
    )

    send_all()
    send_all()

    (mail,) = simulator.copies()
    assert (mail.address, mail.subject, mail.text) == ("ada@example.com", "Your receipt", "Thank you")
    assert mail.html == "<p>Thank you</p>"
    assert mail.sender == "no-reply@mg.example.com"
    assert {("X-Order", "1842"), ("Reply-To", "help@example.com")} <= set(mail.headers)
    assert mail.tags == ["receipts", "spring"]
    assert mail.attachments == ["receipt.pdf"]
    assert "metadata" not in mail.variables
    assert (only().status, only().attempts) == ("sent", 1)
    assert SentMessage.objects.get().idempotency_key == "order-1842:receipt:v1"
    assert SentMessage.objects.get().digest == only().digest
    assert SendBatch.objects.get().answer_class == "200"
    tally = Tally.objects.get(name="answer:200", stream="receipts")
    assert (tally.times, tally.mails) == (1, 1)


def test_a_key_outlives_its_message(simulator: Simulator) -> None:
    enqueue()
    send_all()
    Attachment.objects.all().delete()
    Message.objects.all().delete()

    again = enqueue()

    assert (again.is_new, again.message.status) == (False, "sent")
    assert not again.message.pk
    with pytest.raises(KeyTaken):
        enqueue(subject="Another")
    send_all()
    assert len(simulator.messages) == 1


def test_a_receipt_reaches_who_left_the_newsletter_but_no_dead_address(simulator: Simulator) -> None:
    reasons = {"left": "unsubscribed", "dead": "bounced", "angry": "complained"}
    for name, reason in reasons.items():
        contacts.suppress(
            address=f"{name}@example.com",
            reason=Suppression.Reason(reason),
            scope=Suppression.Scope("marketing" if reason == "unsubscribed" else "all"),
            source="test",
        )

    found = {
        name: enqueue(to=f"{name}@example.com", idempotency_key=name).message
        for name in (*reasons, "unknown")
    }

    assert {name: (mail.status, mail.reason) for name, mail in found.items()} == {
        "left": ("pending", ""),
        "dead": ("skipped", "suppressed: bounced"),
        "angry": ("skipped", "suppressed: complained"),
        "unknown": ("pending", ""),
    }
    Stream.objects.filter(name="receipts").update(sends_to_complainers=True)
    assert enqueue(to="angry@example.com", idempotency_key="other").message.status == "pending"
    send_all()
    assert sorted(simulator.accepted_addresses()) == [
        "angry@example.com",
        "left@example.com",
        "unknown@example.com",
    ]


def test_an_address_that_dies_while_it_waits_is_found_at_the_last_look(simulator: Simulator) -> None:
    enqueue()
    contacts.suppress(
        address="ada@example.com",
        reason=Suppression.Reason.BOUNCED,
        scope=Suppression.Scope.ALL,
        source="test",
    )

    send_all()

    assert (only().status, only().reason) == ("skipped", "suppressed: bounced")
    assert not simulator.calls


def test_a_reset_that_is_too_old_is_not_sent_but_reported(simulator: Simulator) -> None:
    enqueue(expires_at=db.now() + timedelta(hours=1))
    Message.objects.update(expires_at=db.now() - timedelta(seconds=1))

    assert housekeeping.turn()

    assert (only().status, only().reason) == ("expired", "It could not leave before it expired.")
    send_all()
    assert not simulator.calls


def test_what_expires_between_claim_and_call_is_not_sent(simulator: Simulator) -> None:
    enqueue(expires_at=db.now() + timedelta(hours=1))
    Message.objects.update(expires_at=db.now() - timedelta(seconds=1))

    send_all()

    assert only().status == "expired"
    assert not simulator.calls


def test_an_unclear_message_is_held_and_nobody_touches_it(simulator: Simulator) -> None:
    simulator.fault(Fault("error", status=502, accept=True))
    enqueue()

    send_all()

    assert only().status == "unknown"
    assert enqueue().message.status == "unknown"
    send_all()
    assert len(simulator.calls) == 1


def test_events_move_it_and_settle_what_was_unclear(simulator: Simulator) -> None:
    simulator.fault(Fault("error", status=502, accept=True))
    enqueue()
    send_all()
    batch = SendBatch.objects.get()

    event = ProviderEvent(
        provider="mailgun",
        domain="mg.example.com",
        event_id="e1",
        type=EventType.DELIVERED,
        occurred_at=db.now(),
        address="ada@example.com",
        payload={},
        batch=batch.pk,
    )
    found = services.record_event(event)

    assert found == (None, only().pk)
    assert only().status == "delivered"
    batch.refresh_from_db()
    assert batch.state == "accepted"
    assert SentMessage.objects.get().idempotency_key == "order-1842:receipt:v1"


def test_a_refused_message_is_a_dead_letter_and_may_be_sent_again(simulator: Simulator) -> None:
    simulator.fault(Fault("answer", status=400, body={"message": "from parameter is wrong"}))
    enqueue()
    send_all()
    assert only().status == "failed"
    assert "from parameter" in only().reason

    assert services.requeue_messages(stream=Stream.objects.get(name="receipts")) == 1
    send_all()

    assert only().status == "sent"
    assert services.requeue_messages() == 0


def test_only_what_is_ready_can_be_taken_back(simulator: Simulator) -> None:
    message = enqueue().message

    assert services.cancel_message(message, by="shop")
    assert not services.cancel_message(message, by="shop")

    assert (only().status, only().reason) == ("cancelled", "Cancelled by shop.")
    send_all()
    assert not simulator.calls


def test_a_template_says_it_with_the_callers_variables() -> None:
    MessageTemplate.objects.create(
        name="receipt", subject="Order {{ order }}", body="Hello {{ name }}, order **{{ order }}** is paid."
    )

    mail = enqueue(subject="", html="", text="", template="receipt", variables={"order": "1842"}).message

    assert mail.subject == "Order 1842"
    assert "Hello Ada" in mail.html
    assert "1842" in mail.text
    assert "nsubscribe" not in mail.html + mail.text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"stream": "campaigns"}, "stream"),
        ({"stream": "nowhere"}, "stream"),
        ({"idempotency_key": ""}, "idempotency_key"),
        ({"idempotency_key": "campaign-7:contact-42"}, "idempotency_key"),
        ({"idempotency_key": "a\nb"}, "idempotency_key"),
        ({"to": "nobody"}, "to"),
        ({"to": "ada@example.com, bob@example.com"}, "to"),
        ({"subject": ""}, "subject"),
        ({"subject": "a\r\nBcc: eve@example.com"}, "subject"),
        ({"html": "", "text": ""}, "html"),
        ({"html": "x" * 1_000_001}, "html"),
        ({"headers": {"Bcc": "eve@example.com"}}, "headers"),
        ({"headers": {"X-A": "a\r\nBcc: eve@example.com"}}, "headers"),
        ({"tags": ["ä"]}, "tags"),
        ({"files": [File("../x", "text/plain", b"")]}, "attachments"),
        ({"files": [File("x", "text/plain\r\nX: y", b"")]}, "attachments"),
        ({"template": "nothing", "subject": "", "html": "", "text": ""}, "template"),
        ({"reply_to": "x"}, "reply_to"),
    ],
)
def test_what_can_not_be_sent_is_refused_with_the_field(change: dict[str, object], field: str) -> None:
    with pytest.raises(MessageRefused) as refused:
        enqueue(**change)

    assert refused.value.field == field
    assert not Message.objects.exists()


def test_a_stream_that_is_drained_takes_nothing_new_but_answers_for_what_it_has() -> None:
    enqueue()
    Stream.objects.update(draining=True)

    assert not enqueue().is_new
    with pytest.raises(MessageRefused, match="drained"):
        enqueue(idempotency_key="other")


def test_a_domain_that_waits_keeps_no_other_domains_mail_waiting(simulator: Simulator) -> None:
    other = SenderDomainFactory.create(name="other.example.org")
    enqueue()
    enqueue(idempotency_key="second", sender="x@other.example.org")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE sender_domains SET held_until = statement_timestamp() + interval '1 hour' WHERE id <> %s",
            [other.pk],
        )

    send_all()

    assert dict(Message.objects.values_list("idempotency_key", "status")) == {
        "order-1842:receipt:v1": "pending",
        "second": "sent",
    }


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"send_at": datetime(2100, 1, 1, tzinfo=UTC)}, "send_at"),
        ({"send_at": datetime(2026, 12, 1)}, "send_at"),
        ({"expires_at": datetime(2026, 1, 1, tzinfo=UTC)}, "expires_at"),
    ],
)
def test_moments_have_a_zone_and_are_to_come_within_a_year(change: dict[str, object], field: str) -> None:
    with pytest.raises(MessageRefused) as refused:
        enqueue(**change)

    assert refused.value.field == field


def test_on_the_shared_domain_the_callers_address_gets_the_answers() -> None:
    message = enqueue(sender="Shop <orders@shop.example>").message

    assert (message.sender, message.reply_to) == ("Shop <no-reply@mg.example.com>", "orders@shop.example")


def test_a_domain_of_ones_own_sends_only_for_its_own_addresses(domain: SenderDomain) -> None:
    SenderDomain.objects.update(is_shared=False)

    assert enqueue(sender="shop@example.com").message.sender == "shop@example.com"
    with pytest.raises(MessageRefused) as refused:
        enqueue(sender="ceo@bank.example", idempotency_key="other")
    assert refused.value.field == "from"
