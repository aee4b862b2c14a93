"""The first page: what goes out, what stops it, and nothing that a person may not see."""

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from tests.campaigns.admin.conftest import SignIn
from tests.campaigns.admin.pages import sendable
from tests.factories import RecipientFactory

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
    assert (
        f'Nothing is sent from <a class="mk-link" href="{reverse("admin:campaigns_senderdomain_change", args=[campaign.domain.pk])}">'
        in home(operator)
    )


def test_who_may_see_nothing_is_told_whom_to_ask(sign_in: SignIn) -> None:
    sendable(name="Secret plans")
    shown = home(sign_in())
    assert "Secret plans" not in shown
    assert "ask whoever runs this site" in shown
