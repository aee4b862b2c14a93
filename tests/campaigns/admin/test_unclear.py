"""The page of unknown outcomes: what is shown, and who may decide."""

from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now
from django.test import Client
from pytest_django.fixtures import Settings

from campaigns import resolver
from campaigns.models import Recipient, SendBatch
from campaigns.sql import jobs, queue
from tests.factories import CampaignFactory, RecipientFactory

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
    assert LogEntry.objects.filter(object_id=str(batch.pk)).count() == 1
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
