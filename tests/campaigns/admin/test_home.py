"""The first page: what goes out, what stops it, and nothing that a person may not see."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from campaigns import services
from campaigns.models import Campaign, Stream
from tests.campaigns.admin.conftest import SignIn
from tests.campaigns.admin.pages import sendable
from tests.factories import MessageFactory, RecipientFactory

pytestmark = pytest.mark.django_db


def home(client: Client) -> str:
    return client.get(reverse("admin:index")).content.decode()


def test_an_empty_site_offers_the_first_step(writer: Client) -> None:
    shown = home(writer)
    assert "Nothing is being sent and nothing is scheduled." in shown
    assert reverse("admin:campaigns_campaign_add") in shown


def test_what_goes_out_shows_how_far_it_is_and_what_it_waits_for(writer: Client) -> None:
    campaign = sendable(status="paused", status_reason="400 bad from", name="October <news>")
    RecipientFactory.create(campaign=campaign)
    RecipientFactory.create(campaign=campaign, status="sent", sent_at=Now())
    shown = home(writer)
    assert "October &lt;news&gt;" in shown
    assert "1 of 2 accepted" in shown
    assert "400 bad from" in shown


def test_a_domain_that_is_stopped_stands_above_everything(operator: Client) -> None:
    campaign = sendable()
    assert campaign.domain is not None
    campaign.domain.status, campaign.domain.paused_reason = "paused", "401 Invalid private key"
    campaign.domain.save()
    RecipientFactory.create(campaign=campaign)
    Campaign.objects.update(status="sending")
    for page in (home(operator), operator.get(reverse("admin:contacts_contact_changelist")).content.decode()):
        assert f"Nothing is sent from {campaign.domain.name}: 401 Invalid private key" in page
        assert "No worker is alive for campaigns, and 1 mail waits" in page


def test_streams_stand_as_on_the_live_page(operator: Client) -> None:
    MessageFactory.create(due_at=Now() - timedelta(hours=1))
    Stream.objects.filter(name="password-resets").update(paused=True, paused_by="ada", paused_reason="Leak")

    shown = home(operator)

    for words in ("Over budget", "1 hour of 3 minutes", "Idle", "Paused by ada: Leak."):
        assert words in shown
    streams = operator.get(reverse("admin:campaigns_stream_changelist")).content.decode()
    live = operator.get(reverse("live")).content.decode()
    for word in ("Over budget", "Idle", "Paused"):
        assert word in streams
        assert word in live


def test_a_stop_of_everything_is_said_once_and_every_stream_is_stopped(operator: Client) -> None:
    services.stop_everything(reason="Wrong list", by="ada")

    for page in (home(operator), operator.get(reverse("live")).content.decode()):
        assert page.count("Wrong list") <= 2
        assert "Idle" not in page


def test_who_may_see_nothing_is_told_whom_to_ask(sign_in: SignIn) -> None:
    sendable(name="Secret plans")
    shown = home(sign_in())
    assert "Secret plans" not in shown
    assert "ask whoever runs this site" in shown
