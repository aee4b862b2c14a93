"""Who may watch, and what the page says."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.campaigns.admin.conftest import SignIn, operator, sign_in, writer

__all__ = ["operator", "sign_in", "writer"]

pytestmark = pytest.mark.django_db
PAGES = ("live", "live_panel")


@pytest.mark.parametrize("name", PAGES)
def test_only_who_may_see_streams_may_watch(client: Client, sign_in: SignIn, name: str) -> None:
    assert client.get(reverse(name)).status_code == 302
    assert sign_in().get(reverse(name)).status_code == 403
    assert sign_in("Operator").get(reverse(name)).status_code == 200
    assert sign_in("", "campaigns.view_stream").get(reverse(name)).status_code == 200


def test_the_sidebar_leads_there_who_may_watch(sign_in: SignIn) -> None:
    home = reverse("admin:index")

    assert reverse("live") in sign_in("Writer").get(home).content.decode()
    assert reverse("live") not in sign_in().get(home).content.decode()


def test_the_panel_is_never_kept(operator: Client) -> None:
    answer = operator.get(reverse("live_panel"))

    assert "no-store" in answer["Cache-Control"]
    assert "No worker has been seen within the last minute" in answer.json()["html"]
