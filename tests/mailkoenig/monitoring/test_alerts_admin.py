"""Alerts as staff see them: those of now and those that are over."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from mailkoenig.monitoring.models import Alert, Notice
from tests.campaigns.admin.conftest import SignIn, sign_in

__all__ = ["sign_in"]

pytestmark = pytest.mark.django_db
LIST = reverse("admin:monitoring_alert_changelist")


def alert(subject: str, **values: object) -> Alert:
    given = {"kind": "stalled", "summary": f"Mail of {subject} waits.", **values}
    return Alert.objects.create(subject=subject, **given)


def text(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def test_what_is_wrong_now_comes_first_and_what_is_over_stays(admin_client: Client) -> None:
    alert("older", cleared_at=Now() - timedelta(hours=2))
    alert("newer", cleared_at=Now() - timedelta(hours=1))
    alert("receipts")

    rows = admin_client.get(LIST).context["cl"].result_list
    assert [row.subject for row in rows] == ["receipts", "newer", "older"]
    assert [row.subject for row in admin_client.get(LIST, {"state": "now"}).context["cl"].result_list] == [
        "receipts"
    ]
    assert len(admin_client.get(LIST, {"state": "over"}).context["cl"].result_list) == 2


def test_one_shows_the_facts_and_who_was_told(admin_client: Client) -> None:
    stalled = alert("receipts", details={"stream": "receipts", "workers": 0, "last_answer": "429"})
    told = {"alert": stalled, "summary": "s", "began_at": stalled.began_at}
    Notice.objects.create(**told, about="began", way="email", told_at=Now())
    Notice.objects.create(**told, about="began", way="webhook", error="Connection refused", tries=3)

    shown = text(admin_client, reverse("admin:monitoring_alert_change", args=[stalled.pk]))

    for words in (
        "Mail of receipts waits.",
        "last answer: 429",
        "by email: told",
        "Connection refused; 3 tries",
    ):
        assert words in shown


def test_an_empty_list_says_what_would_be_there(admin_client: Client) -> None:
    assert "ALERT_WEBHOOK_URL" in text(admin_client, LIST)


def test_nobody_changes_an_alert_by_hand(admin_client: Client, client: Client) -> None:
    address = reverse("admin:monitoring_alert_change", args=[alert("receipts").pk])

    assert admin_client.post(address, {"summary": "All is well"}).status_code == 403
    assert client.get(address).status_code == 302


@pytest.mark.parametrize(("role", "status"), [("Operator", 200), ("Writer", 403)])
def test_operators_see_alerts(sign_in: SignIn, role: str, status: int) -> None:
    assert sign_in(role).get(LIST).status_code == status
