"""The page of unknown outcomes: what is shown, and who may decide."""

from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries, Settings

from campaigns import resolver
from campaigns.models import Message, Recipient, SendBatch
from campaigns.sql import jobs, messages, queue, workers
from tests.campaigns.admin.conftest import SignIn
from tests.factories import CampaignFactory, MessageFactory, RecipientFactory

pytestmark = pytest.mark.django_db
LIST = "/admin/campaigns/unclearbatch/"


@pytest.fixture
def batch() -> SendBatch:
    """A call whose answer was lost and whose log can't be read."""
    campaign = CampaignFactory.create(status="sending")
    RecipientFactory.create_batch(2, campaign=campaign, name="<b>Ida</b>")
    found = uuid4()
    queue.claim(campaign=campaign.pk, batch=found, worker="w")
    queue.start(batch=found, people=2)
    resolver.note_unknown(found, jobs.RECIPIENTS, reason="No answer in time.")
    SendBatch.objects.update(asks=5, finding="Mailgun's log answers 401.", held_at=Now(), next_ask_at=None)
    return SendBatch.objects.get()


@pytest.fixture
def lost() -> Message:
    """A message whose call got no answer, for a person to decide."""
    message: Message = MessageFactory.create(idempotency_key="order-1842:receipt:v1", email="ada@example.com")
    found = uuid4()
    messages.claim(stream=message.stream_id, domain=message.domain_id, batch=found, worker="w", most=1)
    queue.start(batch=found, people=1)
    resolver.note_unknown(found, jobs.MESSAGES, reason="No answer in time.")
    SendBatch.objects.update(asks=1, finding="Mailgun's log answers 401.", held_at=Now(), next_ask_at=None)
    message.refresh_from_db()
    return message


def test_an_empty_page_says_what_belongs_there(operator: Client) -> None:
    assert "Every outcome is known" in operator.get(LIST).content.decode()


def test_the_list_says_who_how_many_and_what_was_tried(operator: Client, batch: SendBatch) -> None:
    page = operator.get(LIST).content.decode()

    for words in ("No answer in time.", "5 times", "log answers 401", "Waits for a person"):
        assert words in page


def test_the_page_names_the_people(operator: Client, batch: SendBatch) -> None:
    page = operator.get(f"{LIST}{batch.pk}/change/").content.decode()

    assert all(person.email in page for person in Recipient.objects.all())
    assert "Count as sent" in page


@pytest.mark.parametrize(("lever", "status"), [("count-as-sent", "sent"), ("send-again", "pending")])
def test_a_person_decides_after_a_question_and_leaves_a_trace(
    operator: Client, batch: SendBatch, lever: str, status: str
) -> None:
    address = f"{LIST}{batch.pk}/{lever}/"

    asked = operator.get(address).content.decode()
    assert "can&#x27;t be taken back" in asked
    assert set(Recipient.objects.values_list("status", flat=True)) == {"unknown"}

    operator.post(address)

    assert set(Recipient.objects.values_list("status", flat=True)) == {status}
    assert LogEntry.objects.filter(object_id=str(batch.campaign_id)).count() == 1
    batch.refresh_from_db()
    assert batch.settled_by.startswith("staff")


def test_a_second_click_changes_nothing(operator: Client, batch: SendBatch) -> None:
    operator.post(f"{LIST}{batch.pk}/count-as-sent/")
    operator.post(f"{LIST}{batch.pk}/send-again/")

    assert set(Recipient.objects.values_list("status", flat=True)) == {"sent"}


@pytest.mark.parametrize("lever", ["count-as-sent", "send-again"])
def test_who_may_not_decide_is_refused(writer: Client, sender: Client, batch: SendBatch, lever: str) -> None:
    for client in (writer, sender):
        assert client.post(f"{LIST}{batch.pk}/{lever}/").status_code == 403
        assert "Send again" not in client.get(f"{LIST}{batch.pk}/change/").content.decode()
    assert Client().post(f"{LIST}{batch.pk}/{lever}/").status_code == 302
    assert set(Recipient.objects.values_list("status", flat=True)) == {"unknown"}


def test_what_is_still_asked_about_has_no_buttons(operator: Client, batch: SendBatch) -> None:
    SendBatch.objects.update(held_at=None, next_ask_at=Now())

    assert "Send again" not in operator.get(f"{LIST}{batch.pk}/change/").content.decode()
    operator.post(f"{LIST}{batch.pk}/send-again/")
    assert set(Recipient.objects.values_list("status", flat=True)) == {"unknown"}


def test_a_missing_account_key_is_said(operator: Client, settings: Settings) -> None:
    settings.MAILGUN_API_KEY = ""

    assert "MAILGUN_API_KEY" in operator.get(LIST).content.decode()


# Of a message


@pytest.mark.parametrize("page", ["", "{}/change/", "{}/count-as-sent/", "{}/send-again/"])
def test_an_unknown_message_is_named_with_its_stream_its_reader_and_a_link(
    operator: Client, lost: Message, page: str
) -> None:
    shown = operator.get(LIST + page.format(lost.batch_id)).content.decode()

    for words in ("message order-1842:receipt:v1", "receipts", "ada@example.com", of_message(lost)):
        assert words in shown
    for words in ("None", "1 people", "1 times", "campaign unknowns"):
        assert words not in shown


@pytest.mark.parametrize("page", ["", "{}/change/", "{}/count-as-sent/", "{}/send-again/"])
def test_who_may_not_see_people_sees_no_address(sign_in: SignIn, lost: Message, page: str) -> None:
    client = sign_in("", "campaigns.view_unclearbatch", "campaigns.settle_unclearbatch")

    shown = client.get(LIST + page.format(lost.batch_id)).content.decode()

    assert "order-1842:receipt:v1" in shown
    assert "1 person" in shown or "the one person" in shown
    assert "ada@example.com" not in shown


def test_the_list_finds_all_its_messages_at_once(
    operator: Client, lost: Message, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    batch = SendBatch.objects.get()
    for _ in range(20):
        other = MessageFactory.create()
        SendBatch.objects.create(
            stream=batch.stream,
            domain=batch.domain,
            message_id=other.pk,
            state="unknown",
            started_at=Now(),
            lease_expires_at=Now(),
            size=1,
        )

    workers.beat(id=uuid4(), name="one", streams=[], doing={})
    with django_assert_max_num_queries(15):
        operator.get(LIST)


def test_several_messages_of_one_call_are_counted_and_their_stream_is_named(
    operator: Client, lost: Message
) -> None:
    SendBatch.objects.update(message_id=None, size=300)

    shown = operator.get(f"{LIST}{lost.batch_id}/change/").content.decode()

    assert "300 messages of receipts" in shown
    assert "and 299 more" in shown
    assert "campaign unknowns" not in shown


@pytest.mark.parametrize(
    ("lever", "words"), [("count-as-sent", "counted as sent"), ("send-again", "ready to be sent again")]
)
def test_after_a_decision_the_list_says_what_was_done_with_a_link(
    operator: Client, lost: Message, lever: str, words: str
) -> None:
    answer = operator.post(f"{LIST}{lost.batch_id}/{lever}/", follow=True)

    shown = answer.content.decode()
    assert answer.redirect_chain == [(LIST, 302)]
    assert of_message(lost) in shown
    assert words in shown
    assert "exist" not in shown
    entry = LogEntry.objects.get()
    assert (entry.object_repr, entry.object_id) == (lost.idempotency_key, str(lost.pk))
    assert "for 1 person" in entry.change_message


@pytest.mark.parametrize("page", ["change", "send-again"])
def test_of_what_is_settled_meanwhile_it_is_said_that_it_is_known(
    operator: Client, lost: Message, page: str
) -> None:
    operator.post(f"{LIST}{lost.batch_id}/count-as-sent/")

    answer = operator.get(f"{LIST}{lost.batch_id}/{page}/", follow=True)

    assert answer.redirect_chain == [(LIST, 302)]
    assert "known by now" in answer.content.decode()


def test_the_message_says_that_nobody_knows_and_leads_to_the_decision(
    operator: Client, lost: Message
) -> None:
    shown = operator.get(of_message(lost)).content.decode()

    assert f"{LIST}{lost.batch_id}/change/" in shown
    assert shown.count("nobody knows whether the provider took it") == 2
    assert "never accepted" not in shown


def test_what_was_sent_again_is_not_said_to_be_unsent(operator: Client, lost: Message) -> None:
    operator.post(f"{LIST}{lost.batch_id}/send-again/")

    shown = operator.get(of_message(lost)).content.decode()

    assert "never accepted" not in shown
    assert "what was asked" not in shown


def of_message(message: Message) -> str:
    return reverse("admin:campaigns_message_change", args=[message.pk])
