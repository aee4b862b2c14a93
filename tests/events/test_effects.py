"""What a webhook does to people: it refuses dead addresses, and only those, whoever the mail was for."""

from typing import Any

import pytest

from contacts.models import Contact, Suppression
from events.models import Event
from tests.events.test_views import SAMPLES, post, reported, status_of
from tests.events.webhooks import sample, signed
from tests.factories import ContactFactory, RecipientFactory, SendBatchFactory

pytestmark = pytest.mark.django_db


# Mail that we do not know


@pytest.mark.parametrize("name", SAMPLES)
def test_events_for_foreign_mail_are_taken_and_make_nobody(name: str) -> None:
    message = {"headers": {"message-id": "somebody-else@example.org"}}

    answer = post(signed(reported(name, message=message)))

    assert answer.status_code == 200
    assert not Contact.objects.exists()


@pytest.mark.parametrize(
    ("name", "status", "scope"),
    [
        ("webhook-failed-permanent-bounce", "bounced", "all"),
        ("webhook-complained", "complained", "all"),
        ("webhook-unsubscribed", "unsubscribed", "marketing"),
        ("webhook-failed-permanent-suppress-bounce", "bounced", "all"),
        ("webhook-failed-permanent-suppress-complaint", "complained", "all"),
        ("webhook-failed-permanent-suppress-unsubscribe", "unsubscribed", "marketing"),
    ],
)
def test_a_known_contact_is_suppressed_even_by_unknown_mail(name: str, status: str, scope: str) -> None:
    ContactFactory.create(email="ida@example.com")

    post(signed(reported(name, message={})))

    suppression = Suppression.objects.get(address="ida@example.com")
    assert (status_of(), suppression.reason, suppression.scope) == (status, status, scope)
    assert suppression.event == sample(name)["id"]


def test_an_address_that_is_no_contact_is_suppressed_too() -> None:
    post(signed(reported("webhook-complained")))

    assert Suppression.objects.filter(address="ida@example.com", scope="all").exists()
    assert not Contact.objects.exists()


def test_a_deleted_campaign_is_no_error() -> None:
    recipient = RecipientFactory.create(contact=ContactFactory.create(email="ida@example.com"), status="sent")
    variables = {
        "rid": str(recipient.pk),
        "batch": str(SendBatchFactory.create(campaign=recipient.campaign).pk),
    }
    recipient.campaign.delete()

    answer = post(signed(reported("webhook-complained", variables=variables)))

    assert (answer.status_code, status_of()) == (200, "complained")


def test_a_complaint_about_no_address_is_kept() -> None:
    assert post(signed({**sample("webhook-complained"), "recipient": "no address"})).status_code == 200
    assert (Event.objects.count(), Suppression.objects.count()) == (1, 0)


# Temporary is not permanent


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"severity": "temporary"}, "active"),
        ({"severity": "PERMANENT"}, "bounced"),
        ({"severity": None}, "active"),
        ({"severity": "fatal"}, "active"),
        ({"reason": "bounce"}, "bounced"),
        ({"reason": "suppress-bounce"}, "bounced"),
        ({"reason": "suppress-unsubscribe"}, "unsubscribed"),
        ({"reason": "generic", "delivery-status": {"code": 550, "message": "5.7.1 spam policy"}}, "active"),
        ({"reason": "bounce", "delivery-status": {"code": 552, "message": "mailbox full"}}, "active"),
        ({"event": "rejected", "reject": {"reason": "Sandbox"}}, "active"),
    ],
)
def test_only_a_dead_address_is_suppressed(changes: dict[str, Any], status: str) -> None:
    ContactFactory.create(email="ida@example.com")

    for _ in range(3):
        post(signed(reported("webhook-failed-permanent-bounce", **changes)))

    assert status_of() == status
