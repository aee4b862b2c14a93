"""Messages and their templates, as staff see them."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from campaigns import services
from campaigns.models import Attachment, Message, MessageTemplate, SendBatch, SenderDomain, Stream
from campaigns.sql import letters
from events.models import Event
from tests.campaigns.admin.conftest import SignIn
from tests.factories import MessageFactory, SendBatchFactory

pytestmark = pytest.mark.django_db
LIST = reverse("admin:campaigns_message_changelist")
TEMPLATES = reverse("admin:campaigns_messagetemplate_changelist")
ADD = reverse("admin:campaigns_messagetemplate_add")
CALL = "admin:campaigns_sendbatch_change"
WRITTEN = {
    "name": "receipt",
    "subject": "Order {{ order }}",
    "body": "Hi {{ name }}",
    "body_format": "markdown",
}


def page(message: Message, name: str = "change") -> str:
    return reverse(f"admin:campaigns_message_{name}", args=[message.pk])


def keys(client: Client, **query: str) -> set[str]:
    return {row.idempotency_key for row in client.get(LIST, query).context["cl"].result_list}


def text(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def aged(days: float, **values: object) -> Message:
    message: Message = MessageFactory.create(**values)
    Message.objects.filter(pk=message.pk).update(created_at=Now() - timedelta(days=days))
    return message


# The list


def test_it_is_searched_by_a_whole_key_or_the_beginning_of_an_address(operator: Client) -> None:
    ada = MessageFactory.create(idempotency_key="order-1:receipt:v1", email="ada@example.com")
    bob = MessageFactory.create(idempotency_key="order-2:receipt:v1", email="bob@example.com")

    assert keys(operator, q=ada.idempotency_key) == {ada.idempotency_key}
    assert keys(operator, q=" BOB@ex") == {bob.idempotency_key}
    assert keys(operator, q="order-") == set()
    assert keys(operator, q="%") == set()


def test_it_is_filtered_by_stream_state_and_age(operator: Client) -> None:
    old, yesterday = aged(30), aged(0.9, status="failed", reason="550")
    now = MessageFactory.create(stream=Stream.objects.get(name="password-resets"))

    assert keys(operator, stream="receipts") == {old.idempotency_key, yesterday.idempotency_key}
    assert keys(operator, status="failed") == {yesterday.idempotency_key}
    assert keys(operator, age="hour") == {now.idempotency_key}
    assert keys(operator, age="day") == {yesterday.idempotency_key, now.idempotency_key}
    assert keys(operator, age="older") == {old.idempotency_key}
    assert keys(operator, stream="nobody") == set()


@pytest.mark.parametrize(("young", "old"), [(0, 0), (0, 3), (3, 0), (1, 1), (5, 2), (2, 9)])
def test_the_first_of_an_age_is_found_by_halving(young: int, old: int) -> None:
    before = [aged(2).pk for _ in range(old)]
    after = [aged(0.5).pk for _ in range(young)]

    first = letters.first_within(timedelta(days=1))

    assert set(Message.objects.filter(pk__gte=first).values_list("pk", flat=True)) == set(after)
    assert set(Message.objects.filter(pk__lt=first).values_list("pk", flat=True)) == set(before)


def test_an_empty_list_says_what_belongs_there(operator: Client) -> None:
    assert "/api/v1/messages" in text(operator, LIST)


def test_it_says_why_each_mail_waits_after_one_look_at_all_streams(
    operator: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    paused, quiet = Stream.objects.get(name="receipts"), Stream.objects.get(name="password-resets")
    MessageFactory.create(stream=paused)
    operator.get(LIST)
    with CaptureQueriesContext(connection) as once:
        operator.get(LIST)
    services.pause_stream(paused, reason="Wrong prices", by="ada")
    MessageFactory.create_batch(5, stream=paused)
    MessageFactory.create(stream=quiet, next_attempt_at=Now() + timedelta(days=2))
    MessageFactory.create(status="sent")

    with django_assert_num_queries(len(once)):
        shown = text(operator, LIST)

    assert shown.count("Paused by ada: Wrong prices") == 6
    assert shown.count("Not before") == 1


# The page of one


def test_a_mail_that_waits_says_why_and_when_it_is_tried(operator: Client) -> None:
    message = MessageFactory.create(reason="Timed out")
    assert "as soon as its turn comes" in text(operator, page(message))
    Stream.objects.filter(pk=message.stream_id).update(
        paused=True, paused_by="ada", paused_reason="Wrong prices", draining=True
    )
    SenderDomain.objects.filter(pk=message.domain_id).update(status="paused", paused_reason="Key rotated")
    other = MessageFactory.create(next_attempt_at=Now() + timedelta(days=2))

    shown = text(operator, page(message))
    assert "Paused by ada: Wrong prices" in shown
    assert "is paused: Key rotated" in shown
    assert "Timed out" in shown
    assert "Draining" not in shown
    shown = text(operator, page(other))
    assert "Not before" in shown
    assert "Wrong prices" in shown
    assert "is paused: Key rotated" not in shown
    assert "its turn" not in shown


def test_what_is_over_waits_for_nothing(operator: Client) -> None:
    message = MessageFactory.create(status="failed", reason="550 Mailbox on fire")
    services.pause_stream(message.stream, reason="Wrong prices", by="ada")

    for address in (LIST, page(message)):
        assert "550 Mailbox on fire" in text(operator, address)
        assert "Wrong prices" not in text(operator, address)


def test_it_shows_what_it_says_and_all_that_happened(operator: Client) -> None:
    batch = SendBatchFactory.create(campaign=None, domain=MessageFactory.create().domain)
    message = MessageFactory.create(
        status="delivered", batch=batch, metadata={"order": 1842}, tags=["spring"]
    )
    Attachment.objects.create(
        message=message, name="receipt.pdf", content_type="application/pdf", content=b"x" * 2048
    )
    Event.objects.create(
        provider="mailgun",
        event_type="delivered",
        message=message,
        day="2026-01-01",
        occurred_at=Now(),
        raw_payload={},
    )

    shown = text(operator, page(message))

    for words in (message.email, "Your receipt", "receipt.pdf", "1842", "spring", str(batch.pk), "delivered"):
        assert words in shown
    assert 'sandbox=""' in shown
    assert page(message, "html") in shown


def test_every_call_that_it_was_in_is_shown_with_its_answer(operator: Client) -> None:
    message = MessageFactory.create(reason="Too many requests")
    for state, answer in (("returned", "429 Slow down"), ("accepted", "Queued")):
        call(message_id=message.pk, domain=message.domain, state=state, answer=answer)
    other = call(message_id=message.pk + 1, domain=message.domain, answer="Of another")

    shown = text(operator, page(message))

    assert "429 Slow down" in shown
    assert "Queued" in shown
    assert "Of another" not in shown
    own = SendBatch.objects.filter(message_id=message.pk)[0]
    assert message.idempotency_key in text(operator, reverse(CALL, args=[own.pk]))
    assert "no longer kept" in text(operator, reverse(CALL, args=[other.pk]))


def call(**values: object) -> SendBatch:
    made: SendBatch = SendBatchFactory.create(campaign=None, **values)
    return made


def test_an_attachment_is_saved_and_never_opened_as_a_page(operator: Client, sign_in: SignIn) -> None:
    message, other = MessageFactory.create(), MessageFactory.create()
    kept = Attachment.objects.create(
        message=message, name="a.html", content_type="text/html", content=b"<script>alert(1)</script>"
    )
    address = reverse("admin:campaigns_message_file", args=[message.pk, kept.pk])

    assert address in text(operator, page(message))
    answer = operator.get(address)

    assert answer.content == b"<script>alert(1)</script>"
    assert answer["Content-Disposition"] == 'attachment; filename="a.html"'
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Security-Policy"] == "sandbox"
    assert answer["X-Content-Type-Options"] == "nosniff"
    elsewhere = reverse("admin:campaigns_message_file", args=[other.pk, kept.pk])
    assert operator.get(elsewhere).status_code == 404
    assert sign_in("", "campaigns.view_message").get(address).status_code == 403


def test_the_mail_runs_nothing_and_fetches_nothing(operator: Client) -> None:
    message = MessageFactory.create(html="<p>Hi</p><script>alert(1)</script>")

    answer = operator.get(page(message, "html"))

    policy = answer["Content-Security-Policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "img-src data:" in policy
    assert "no-store" in answer["Cache-Control"]


def test_a_mail_of_text_alone_is_shown_as_text(operator: Client) -> None:
    message = MessageFactory.create(html="", text="1 < 2")

    assert "<pre>1 &lt; 2</pre>" in text(operator, page(message, "html"))


def test_nothing_of_a_message_is_changed_by_hand(operator: Client, admin_client: Client) -> None:
    message = MessageFactory.create()
    for client in (operator, admin_client):
        assert client.post(page(message), {"email": "eve@example.com"}).status_code == 403
        assert client.post(page(message, "delete"), {"post": "yes"}).status_code == 403


def test_who_may_not_see_people_sees_no_address_and_no_mail(sign_in: SignIn) -> None:
    client = sign_in("", "campaigns.view_message")
    message = MessageFactory.create(email="ada@example.com", name="Ada", metadata={"secret": "whisper"})

    shown = text(client, LIST) + text(client, page(message))

    assert message.idempotency_key in shown
    for words in ("ada@example.com", "Your receipt", "whisper", "<iframe"):
        assert words not in shown
    assert client.get(page(message, "html")).status_code == 403
    assert keys(client, q="ada@") == set()
    assert keys(client, q=message.idempotency_key) == {message.idempotency_key}


def test_without_leave_to_see_messages_there_are_none(sign_in: SignIn) -> None:
    client = sign_in("", "contacts.view_contact")
    message = MessageFactory.create()
    for address in (LIST, page(message), page(message, "html"), page(message, "cancel")):
        assert client.get(address).status_code == 403


# Cancel and requeue


def test_one_is_cancelled_with_a_reason_and_once(operator: Client) -> None:
    message = MessageFactory.create()
    assert "../cancel/" in text(operator, page(message))

    for _ in range(2):
        operator.post(page(message, "cancel"), {"reason": "Wrong price"})

    message.refresh_from_db()
    assert message.status == "cancelled"
    assert message.reason.endswith(": Wrong price")
    assert LogEntry.objects.count() == 1


def test_a_dead_letter_is_requeued_after_its_death_was_shown(operator: Client) -> None:
    message = MessageFactory.create(status="failed", reason="550 Mailbox on fire")
    assert "550 Mailbox on fire" in text(operator, page(message, "requeue"))

    operator.post(page(message, "requeue"), {"reason": "fire is out"})

    message.refresh_from_db()
    assert message.status == "pending"
    words = LogEntry.objects.get().get_change_message()
    assert "fire is out" in words
    assert "550 Mailbox on fire" in words


def test_only_who_may_cancels_and_requeues(writer: Client) -> None:
    ready, dead = MessageFactory.create(), MessageFactory.create(status="failed", reason="550")
    assert "../cancel/" not in text(writer, page(ready))
    assert writer.post(page(ready, "cancel"), {"reason": "x"}).status_code == 403
    assert writer.post(page(dead, "requeue")).status_code == 403
    writer.post(LIST, {"action": "cancel_selected", "_selected_action": [str(ready.pk)], "confirmed": "1"})
    assert set(Message.objects.values_list("status", flat=True)) == {"pending", "failed"}


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [("cancel_selected", "pending", "cancelled"), ("requeue_selected", "failed", "pending")],
)
def test_those_chosen_are_asked_about_with_a_count_first(
    operator: Client, action: str, before: str, after: str
) -> None:
    chosen = MessageFactory.create_batch(2, status=before, reason="550 on fire")
    sent = MessageFactory.create(status="sent")
    data = {"action": action, "_selected_action": [str(row.pk) for row in [*chosen, sent]]}

    question = operator.post(LIST, data).content.decode()
    assert "2 messages" in question
    assert "2 because: 550 on fire" in question
    assert set(Message.objects.values_list("status", flat=True)) == {before, "sent"}
    for refused in ({"confirmed": "3", "reason": "a mistake"}, {"confirmed": "2", "reason": ""}):
        operator.post(LIST, {**data, **refused})
        assert set(Message.objects.values_list("status", flat=True)) == {before, "sent"}
    operator.post(LIST, {**data, "confirmed": "2", "reason": "a mistake"})

    assert set(Message.objects.values_list("status", flat=True)) == {after, "sent"}
    assert LogEntry.objects.filter(change_message__contains="a mistake").count() == 2


# Templates


def test_a_mistake_in_a_template_is_named_at_its_field_and_line(sender: Client) -> None:
    answer = sender.post(ADD, {**WRITTEN, "body": "Hi\n\n{% load x %}", "subject": "{{ order"})

    errors = answer.context["adminform"].form.errors
    assert "Line 3" in str(errors["body"])
    assert errors["subject"]
    assert not MessageTemplate.objects.exists()


def test_a_template_is_seen_with_values_before_anybody_gets_it(sender: Client, writer: Client) -> None:
    sender.post(ADD, {**WRITTEN, "body": "Hi {{ name }}, order {{ order }} of {{ shop|default:'ours' }}"})
    template = MessageTemplate.objects.get()
    preview = reverse("admin:campaigns_messagetemplate_preview", args=[template.pk])

    shown = text(writer, preview)
    assert "Order order" in shown
    assert 'name="value-order"' in shown
    assert "Order 1842" in text(writer, f"{preview}?value-order=1842")
    html = writer.get(f"{preview}html/?value-order=1842%3Cb%3E")
    assert "order 1842&lt;b&gt; of" in html.content.decode()
    assert html["Content-Security-Policy"].startswith("sandbox")


def test_the_preheader_of_a_template_is_shown_as_it_is_read(sender: Client) -> None:
    template = MessageTemplate.objects.create(
        name="receipt", subject="Hi", body="Hi {{ total }}", preheader="{{ total }} paid"
    )
    preview = reverse("admin:campaigns_messagetemplate_preview", args=[template.pk])

    shown = text(sender, f"{preview}?value-total=12.50")

    assert "<dd>12.50 paid</dd>" in shown


def test_only_who_may_send_changes_what_messages_say(writer: Client, operator: Client) -> None:
    template = MessageTemplate.objects.create(name="receipt", subject="Hi", body="Hi")
    change = reverse("admin:campaigns_messagetemplate_change", args=[template.pk])
    for client in (writer, operator):
        assert client.get(TEMPLATES).status_code == 200
        assert client.post(change, {**WRITTEN, "subject": "Mine"}).status_code == 403
        assert client.post(ADD, WRITTEN).status_code == 403
    template.refresh_from_db()
    assert template.subject == "Hi"
