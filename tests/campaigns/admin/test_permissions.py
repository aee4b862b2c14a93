"""Who may see and do what, asked on the server."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from campaigns.models import Campaign
from tests.campaigns.admin.conftest import SignIn
from tests.campaigns.admin.pages import page, sendable
from tests.factories import CampaignFactory, RecipientFactory, SendBatchFactory, SenderDomainFactory

pytestmark = pytest.mark.django_db

ACTS = ("send", "schedule", "unschedule", "pause", "resume", "cancel")
PAGES = ("change", "preview", "preview_html", "progress", "history", "delete", *ACTS)
LISTS = ("campaign", "recipient", "sendbatch", "senderdomain", "stream")


@pytest.mark.parametrize("name", PAGES)
def test_a_stranger_is_sent_to_sign_in(client: Client, name: str) -> None:
    answer = client.get(page(sendable(), name))
    assert answer.status_code == 302
    assert answer["Location"].startswith("/admin/login/")


@pytest.mark.parametrize("name", PAGES)
def test_staff_without_rights_see_no_campaign(sign_in: SignIn, name: str) -> None:
    assert sign_in().get(page(sendable(), name)).status_code == 403


@pytest.mark.parametrize("model", LISTS)
def test_staff_without_rights_see_no_list(sign_in: SignIn, model: str) -> None:
    assert sign_in().get(reverse(f"admin:campaigns_{model}_changelist")).status_code == 403


@pytest.mark.parametrize("role", ["Writer", "Sender", "Operator"])
@pytest.mark.parametrize("model", LISTS)
def test_every_role_sees_every_list(sign_in: SignIn, role: str, model: str) -> None:
    RecipientFactory.create()
    SendBatchFactory.create()
    assert sign_in(role).get(reverse(f"admin:campaigns_{model}_changelist")).status_code == 200


@pytest.mark.parametrize("name", ACTS)
@pytest.mark.parametrize("role", ["Writer", "Operator"])
def test_only_a_sender_starts_and_stops(sign_in: SignIn, role: str, name: str) -> None:
    campaign = sendable()
    answer = sign_in(role).post(page(campaign, name), {"typed": "2", "at": "2099-01-01T09:00"})
    campaign.refresh_from_db()
    assert (answer.status_code, campaign.status, LogEntry.objects.count()) == (403, "draft", 0)


def test_a_writer_is_shown_no_button_to_send(writer: Client) -> None:
    shown = writer.get(page(sendable())).content.decode()
    assert "Preview" in shown
    assert "../send/" not in shown


def test_leave_to_send_without_leave_to_see_is_not_enough(sign_in: SignIn) -> None:
    client = sign_in("", "campaigns.send_campaign")
    assert client.post(page(sendable(), "send"), {"typed": "2"}).status_code == 403


def test_a_writer_changes_no_domain_and_no_stream(writer: Client) -> None:
    domain = SenderDomainFactory.create()
    pause = reverse("admin:campaigns_senderdomain_pause", args=[domain.pk])
    assert writer.post(pause, {"reason": "because"}).status_code == 403
    domain.refresh_from_db()
    assert domain.status == "active"


def test_an_operator_writes_no_campaign(operator: Client) -> None:
    campaign = CampaignFactory.create()
    assert operator.get(page(campaign)).status_code == 200
    assert operator.post(page(campaign), {"name": "mine"}).status_code == 403
    assert operator.get(reverse("admin:campaigns_campaign_add")).status_code == 403


def test_the_sidebar_shows_only_rooms_that_may_be_entered(sign_in: SignIn) -> None:
    shown = sign_in("", "campaigns.view_stream").get(reverse("admin:index")).content.decode()
    assert reverse("admin:campaigns_stream_changelist") in shown
    assert reverse("admin:campaigns_campaign_changelist") not in shown


@pytest.mark.parametrize("name", ACTS)
def test_a_get_never_acts(sender: Client, name: str) -> None:
    for status in Campaign.Status.values:
        campaign = sendable(status=status, scheduled_at="2099-01-01T09:00Z")
        sender.get(page(campaign, name))
        campaign.refresh_from_db()
        assert campaign.status == status
