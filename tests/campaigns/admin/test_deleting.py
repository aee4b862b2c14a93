"""What is in use can't be pulled from under a campaign, or it is said what follows."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.test import Client

from campaigns import housekeeping
from campaigns.models import Campaign, Recipient
from contacts.models import Contact, ContactList
from tests.campaigns.admin.conftest import SignIn
from tests.factories import CampaignFactory, ContactListFactory, MembershipFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def keeper(sign_in: SignIn) -> Client:
    return sign_in(
        "",
        "contacts.view_contactlist",
        "contacts.delete_contactlist",
        "contacts.view_contact",
        "contacts.delete_contact",
    )


def delete(client: Client, page: str, *, pk: int) -> str:
    return client.post(f"/admin/contacts/{page}/{pk}/delete/", {"post": "yes"}, follow=True).content.decode()


@pytest.mark.parametrize(
    ("status", "words"),
    [("scheduled", "is scheduled to it"), ("sending", "taking its people"), ("paused", "taking its people")],
)
def test_a_list_that_a_campaign_still_needs_stays(keeper: Client, status: str, words: str) -> None:
    audience = ContactListFactory.create()
    CampaignFactory.create(status=status, scheduled_at=Now() + timedelta(days=1), lists=[audience])

    page = delete(keeper, "contactlist", pk=audience.pk)

    assert words in page
    assert ContactList.objects.filter(pk=audience.pk).exists()


@pytest.mark.parametrize("status", ["draft", "sent", "cancelled"])
def test_a_list_that_nobody_needs_any_more_goes(keeper: Client, status: str) -> None:
    audience = ContactListFactory.create()
    CampaignFactory.create(status=status, lists=[audience])

    delete(keeper, "contactlist", pk=audience.pk)

    assert not ContactList.objects.filter(pk=audience.pk).exists()


def test_a_list_may_go_once_the_campaign_has_its_people(keeper: Client) -> None:
    audience = ContactListFactory.create()
    MembershipFactory.create_batch(2, list=audience)
    campaign = CampaignFactory.create(status="sending", lists=[audience])
    while housekeeping.take_snapshot():
        pass

    delete(keeper, "contactlist", pk=audience.pk)

    assert not ContactList.objects.filter(pk=audience.pk).exists()
    assert Recipient.objects.filter(campaign=campaign).count() == 2


def test_a_contact_that_is_deleted_gets_nothing_more_and_the_campaign_says_why(keeper: Client) -> None:
    audience = ContactListFactory.create()
    gone, stays = MembershipFactory.create_batch(2, list=audience)
    CampaignFactory.create(status="sending", lists=[audience])
    while housekeeping.take_snapshot():
        pass

    delete(keeper, "contact", pk=gone.contact_id)

    assert list(Contact.objects.all()) == [stays.contact]
    assert Recipient.objects.count() == 2
    assert Campaign.objects.get().status == "sending"
