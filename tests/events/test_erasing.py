"""Erasing a person: nothing names them any more, the numbers stay, and they are never mailed again by accident."""

import hashlib
import hmac
import io
from typing import Any

import pytest
from django.apps import apps
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from campaigns.models import Attachment, Message, Recipient
from campaigns.services import NotErasable, enqueue_message
from contacts import services as contacts
from contacts.importing.services import import_contacts
from contacts.models import Contact, ErasedSuppression, Suppression
from events import erasing
from events.models import Event
from mailkoenig.lib import audit
from mailkoenig.lib.command import UserError
from tests.factories import (
    ContactFactory,
    ContactListFactory,
    MembershipFactory,
    MessageFactory,
    RecipientFactory,
    SendBatchFactory,
    SenderDomainFactory,
    SuppressionFactory,
)

pytestmark = pytest.mark.django_db
ADA = "ada@example.com"


def text_of_everything() -> str:
    """Return every row of every table of ours as text."""
    found = []
    with connection.cursor() as cursor:
        for model in apps.get_models():
            cursor.execute(f'SELECT row_to_json(t)::text FROM "{model._meta.db_table}" AS t')
            found += [row for (row,) in cursor.fetchall()]
    return "\n".join(found)


@pytest.fixture
def ada() -> Contact:
    """Somebody whom everything here names."""
    contact: Contact = ContactFactory.create(email=ADA, name="Ada L.", attributes={"city": "London"})
    MembershipFactory.create(contact=contact, list=ContactListFactory.create())
    sent = RecipientFactory.create(
        contact=contact, email=ADA, name="Ada L.", status="bounced", reason=f"550 no such user {ADA}"
    )
    message = MessageFactory.create(email=ADA, name="Ada L.", status="delivered", text="Dear Ada")
    Attachment.objects.create(message=message, name="a.txt", content_type="text/plain", content=b"x")
    SendBatchFactory.create(
        campaign=None,
        domain=message.domain,
        message_id=message.pk,
        state="returned",
        answer=f"421 {ADA} later",
    )
    Event.objects.create(
        provider="mailgun",
        provider_event_id="1",
        event_type="bounced",
        address=ADA,
        reason=f"550 {ADA}",
        campaign_recipient=sent,
        day="2026-01-01",
        occurred_at="2026-01-01T00:00Z",
        raw_payload={"recipient": ADA},
    )
    audit.note(on=contact, what=f"Suppressed {ADA}.", by="somebody here")
    return contact


def test_nothing_names_the_person_any_more_and_the_numbers_stay(ada: Contact) -> None:
    SuppressionFactory.create(address=ADA, reason="bounced", scope="all", source=f"event about {ADA}")

    erased = erasing.erase(" Ada@Example.com", by="root on the command line")

    assert erased == erasing.Erased(contacts=1, recipients=1, messages=1, events=1)
    left = text_of_everything()
    for word in (ADA, "Ada", "London"):
        assert word not in left
    assert Recipient.objects.get().status == "bounced"
    assert Event.objects.get().event_type == "bounced"
    entry = LogEntry.objects.order_by("-pk")[0]
    assert (entry.object_repr, entry.change_message) == ("a person", "Erased.")


def test_of_another_person_nothing_is_lost(ada: Contact) -> None:
    bob = ContactFactory.create(email="bob@example.com")
    RecipientFactory.create(contact=bob, email=bob.email)
    MessageFactory.create(email=bob.email)
    SuppressionFactory.create(address=bob.email)

    erasing.erase(ADA, by="root here")

    assert list(Contact.objects.values_list("email", flat=True)) == [bob.email]
    assert Recipient.objects.filter(email=bob.email, contact=bob).exists()
    assert Message.objects.get().email == bob.email
    assert Suppression.objects.get().address == bob.email


def test_who_still_waits_is_not_sent_to(ada: Contact) -> None:
    waiting = RecipientFactory.create(contact=ada, email=ADA, status="pending")

    erasing.erase(ADA, by="root here")

    waiting.refresh_from_db()
    assert (waiting.status, waiting.reason, waiting.email) == ("skipped", "erased", "")


@pytest.mark.parametrize("status", ["sending", "unknown"])
@pytest.mark.parametrize("of", ["recipient", "message"])
def test_while_a_mail_is_on_its_way_nothing_is_erased(ada: Contact, of: str, status: str) -> None:
    if of == "recipient":
        row: Any = RecipientFactory.create(contact=ada, email=ADA)
        batch = SendBatchFactory.create(campaign=row.campaign)
    else:
        row = MessageFactory.create(email=ADA)
        batch = SendBatchFactory.create(campaign=None, domain=row.domain)
    held = {"locked_at": "2026-01-01T00:00Z", "locked_by": "w"} if status == "sending" else {}
    type(row).objects.filter(pk=row.pk).update(status=status, batch=batch, **held)

    with pytest.raises(NotErasable, match="on its way"):
        erasing.erase(ADA, by="root here")

    assert Contact.objects.filter(email=ADA).exists()
    assert Event.objects.filter(address=ADA).exists()


def test_what_is_kept_is_a_keyed_hash(settings: LazySettings) -> None:
    settings.ERASURE_KEY = "the erasure key"
    SuppressionFactory.create(address=ADA, reason="complained", scope="all")

    erasing.erase(ADA, by="root here")

    kept = ErasedSuppression.objects.get()
    own = hashlib.sha256(b"the erasure key").digest()
    assert bytes(kept.digest) == hmac.digest(own, ADA.encode(), "sha256")
    assert (kept.reason, kept.scope) == ("complained", "all")


def test_a_state_without_a_suppression_is_kept_too() -> None:
    ContactFactory.create(email=ADA, status="unsubscribed")

    erasing.erase(ADA, by="root here")

    assert (ErasedSuppression.objects.get().reason, ErasedSuppression.objects.get().scope) == (
        "unsubscribed",
        "marketing",
    )


@pytest.mark.parametrize("way", ["import", "upsert", "list", "admin"])
def test_it_stands_again_however_the_address_comes_back(way: str) -> None:
    SuppressionFactory.create(address=ADA, reason="bounced", scope="all")
    ContactFactory.create(email=ADA, status="bounced")
    erasing.erase(ADA, by="root here")

    if way == "import":
        report = import_contacts(io.BytesIO(f"email\n{ADA}\nbob@example.com\n".encode()), file_name="a.csv")
        assert (report.created, report.skipped) == (1, 1)
        assert [refusal.reason for refusal in report.refusals] == ["kept suppressed: bounced"]
    elif way == "upsert":
        assert contacts.upsert(address=ADA)[0].status == "bounced"
    elif way == "list":
        contacts.add_members(ContactListFactory.create(), addresses=[ADA])
        assert Contact.objects.get().status == "bounced"
    else:
        contacts.save(Contact(email=ADA))
        assert Contact.objects.get().status == "bounced"

    standing = Suppression.objects.get()
    assert (standing.address, standing.reason, standing.scope) == (ADA, "bounced", "all")
    assert not ErasedSuppression.objects.exists()


def test_a_dry_run_brings_nothing_back() -> None:
    SuppressionFactory.create(address=ADA)
    erasing.erase(ADA, by="root here")

    report = import_contacts(io.BytesIO(f"email\n{ADA}\n".encode()), file_name="a.csv", is_dry_run=True)

    assert report.skipped == 1
    assert not Suppression.objects.exists()


def test_no_receipt_goes_to_a_dead_address_that_was_erased() -> None:
    SenderDomainFactory.create(is_shared=True)
    SuppressionFactory.create(address=ADA, reason="bounced", scope="all")
    erasing.erase(ADA, by="root here")

    written = enqueue_message(stream="receipts", idempotency_key="k", to=ADA, subject="s", text="t").message

    assert (written.status, written.reason) == ("skipped", "suppressed: bounced")


def test_who_left_the_newsletter_and_was_erased_still_gets_receipts() -> None:
    SenderDomainFactory.create(is_shared=True)
    SuppressionFactory.create(address=ADA, reason="unsubscribed", scope="marketing")
    erasing.erase(ADA, by="root here")

    assert (
        enqueue_message(stream="receipts", idempotency_key="k", to=ADA, subject="s", text="t").message.status
        == "pending"
    )


# The ways to it


def test_the_command_asks_first_and_says_what_went(
    ada: Contact, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda question: "n")
    with pytest.raises(UserError, match="Nothing was erased"):
        call_command("erase_person", ADA)
    assert Contact.objects.exists()

    call_command("erase_person", ADA, "--no-input")
    assert "1 contacts, 1 recipients, 1 messages, 1 events" in capsys.readouterr().out
    call_command("erase_person", ADA, "--no-input")
    assert "Nothing here names" in capsys.readouterr().out
    with pytest.raises(UserError, match="not an address"):
        call_command("erase_person", "nobody", "--no-input")


def test_staff_who_may_delete_people_erase_one_after_a_question(ada: Contact, admin_client: Client) -> None:
    page = reverse("admin:contacts_contact_erase", args=[ada.pk])
    assert (
        "../erase/"
        in admin_client.get(reverse("admin:contacts_contact_change", args=[ada.pk])).content.decode()
    )
    assert "can&#x27;t be taken back" in admin_client.get(page).content.decode()
    assert Contact.objects.exists()

    answer = admin_client.post(page, follow=True)

    assert answer.redirect_chain == [(reverse("admin:contacts_contact_changelist"), 302)]
    assert not Contact.objects.exists()
    assert ADA not in text_of_everything()


def test_staff_are_told_why_somebody_can_not_be_erased_yet(ada: Contact, admin_client: Client) -> None:
    held = RecipientFactory.create(contact=ada, email=ADA)
    batch = SendBatchFactory.create(campaign=held.campaign)
    Recipient.objects.filter(pk=held.pk).update(status="unknown", batch=batch)

    answer = admin_client.post(reverse("admin:contacts_contact_erase", args=[ada.pk]), follow=True)

    assert "on its way" in answer.content.decode()
    assert Contact.objects.filter(pk=ada.pk).exists()


def test_who_may_not_delete_people_erases_nobody(
    ada: Contact, client: Client, django_user_model: Any
) -> None:
    client.force_login(django_user_model.objects.create_user("eve", is_staff=True))

    assert client.post(reverse("admin:contacts_contact_erase", args=[ada.pk])).status_code == 403
    assert Contact.objects.exists()
