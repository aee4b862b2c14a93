"""Lists over big tables: the people of one campaign, every mail to one address, calls; never counted whole."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from mailkoenig.lib.admin import CappedPaginator
from tests.factories import CampaignFactory, ContactFactory, RecipientFactory, SendBatchFactory

pytestmark = pytest.mark.django_db

RECIPIENTS = "admin:campaigns_recipient_changelist"


def listed(client: Client, **query: str | int) -> list[str]:
    """Return the addresses that the list shows."""
    return [row.email for row in client.get(reverse(RECIPIENTS), query).context["cl"].result_list]


def test_without_a_campaign_or_an_address_nobody_is_listed_and_the_page_says_how(writer: Client) -> None:
    RecipientFactory.create()
    assert listed(writer) == []
    assert "Open a campaign" in writer.get(reverse(RECIPIENTS)).content.decode()


def test_the_people_of_one_campaign_are_listed_by_state(writer: Client) -> None:
    campaign = CampaignFactory.create(status="sending")
    ready, failed = (
        RecipientFactory.create(campaign=campaign),
        RecipientFactory.create(campaign=campaign, status="failed", reason="550"),
    )
    RecipientFactory.create()
    assert listed(writer, campaign__id__exact=campaign.pk) == [ready.email, failed.email]
    assert listed(writer, campaign__id__exact=campaign.pk, status="failed") == [failed.email]


def test_an_address_finds_every_mail_to_it_in_any_spelling(writer: Client) -> None:
    contact = ContactFactory.create(email="ada@example.com")
    for _ in range(2):
        RecipientFactory.create(contact=contact)
    RecipientFactory.create()
    assert listed(writer, q=" Ada@Example.com ") == ["ada@example.com"] * 2


def test_somebody_whose_contact_was_deleted_is_found_within_the_campaign(writer: Client) -> None:
    row = RecipientFactory.create(contact=None, email="gone@example.com", name="")
    assert listed(writer, q="gone@example.com", campaign__id__exact=row.campaign_id) == ["gone@example.com"]


def test_names_are_text_in_the_list(writer: Client) -> None:
    row = RecipientFactory.create(name="<script>alert(1)</script>", reason="<b>x</b>")
    address = f"{reverse(RECIPIENTS)}?campaign__id__exact={row.campaign_id}"
    assert "<script>alert(1)" not in writer.get(address).content.decode()


def test_no_list_counts_a_whole_table(writer: Client) -> None:
    campaign = RecipientFactory.create().campaign
    SendBatchFactory.create(campaign=campaign)
    for model in ("recipient", "sendbatch"):
        with CaptureQueriesContext(connection) as asked:
            writer.get(reverse(f"admin:campaigns_{model}_changelist"), {"campaign__id__exact": campaign.pk})
        counts = [query["sql"] for query in asked if "COUNT(" in query["sql"]]
        assert counts
        assert all("LIMIT" in sql for sql in counts)


def test_a_capped_list_says_that_there_is_more(writer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = CampaignFactory.create(status="sending")
    for _ in range(3):
        RecipientFactory.create(campaign=campaign)
    monkeypatch.setattr(CappedPaginator, "most", 2)
    shown = writer.get(reverse(RECIPIENTS), {"campaign__id__exact": campaign.pk}).content.decode()
    assert "The first 2 recipients" in shown


def test_bodies_stay_where_they_are_in_lists(writer: Client) -> None:
    CampaignFactory.create(body="x" * 1000)
    with CaptureQueriesContext(connection) as asked:
        writer.get(reverse("admin:campaigns_campaign_changelist"))
    assert not [query for query in asked if '"campaigns"."body"' in query["sql"]]


def test_rows_that_machines_own_are_changed_by_nobody(admin_client: Client) -> None:
    row, batch = RecipientFactory.create(), SendBatchFactory.create()
    for model, pk in (("recipient", row.pk), ("sendbatch", batch.pk)):
        address = reverse(f"admin:campaigns_{model}_change", args=[pk])
        assert admin_client.get(address).status_code == 200
        assert admin_client.post(address, {"status": "sent"}).status_code == 403
        assert admin_client.post(reverse(f"admin:campaigns_{model}_delete", args=[pk])).status_code == 403


def test_an_empty_list_says_what_belongs_there_and_offers_the_first_step(writer: Client) -> None:
    shown = writer.get(reverse("admin:campaigns_campaign_changelist")).content.decode()
    assert "No campaigns yet" in shown
    assert reverse("admin:campaigns_campaign_add") in shown
