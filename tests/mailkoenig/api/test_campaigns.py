"""Campaigns by HTTP."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from campaigns.models import Campaign, SenderDomain
from contacts.models import ContactList
from tests.factories import CampaignFactory, ContactListFactory, MembershipFactory, RecipientFactory
from tests.mailkoenig.api.conftest import Caller, caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def writer(domain: SenderDomain) -> Caller:
    return caller("campaigns")


@pytest.fixture
def news() -> ContactList:
    people: ContactList = ContactListFactory.create()
    MembershipFactory.create(list=people)
    return people


def draft(writer: Caller, news: ContactList, **changes: Any) -> Any:
    body = {"name": "October", "subject": "News", "body": "Hello {{ name }}", "lists": [news.pk]}
    return writer("POST", "campaigns", {**body, **changes})


def test_a_draft_is_made_sent_paused_resumed_and_ended(writer: Caller, news: ContactList) -> None:
    made = draft(writer, news, domain="mg.example.com")
    id = made.json()["id"]
    acts = {"send": None, "pause": {"reason": "A typo."}, "resume": None, "cancel": {"reason": "Too late."}}
    states = [writer("POST", f"campaigns/{id}/{act}", body).json()["status"] for act, body in acts.items()]

    assert (made.status_code, made.json()["status"], made.json()["lists"]) == (201, "draft", [news.pk])
    assert states == ["sending", "paused", "sending", "cancelled"]
    assert writer("GET", f"campaigns/{id}").json()["status_reason"] == "Too late."
    trail = LogEntry.objects.order_by("id").values_list("user__username", "change_message")
    assert list(trail)[-4:] == [
        ("API token shop0", "Sending began."),
        ("API token shop0", "Paused: A typo."),
        ("API token shop0", "Resumed."),
        ("API token shop0", "Cancelled: Too late."),
    ]


def test_it_is_scheduled_with_a_zone(writer: Caller, news: ContactList) -> None:
    id = draft(writer, news).json()["id"]
    answer = writer("POST", f"campaigns/{id}/schedule", {"at": "2150-03-29T09:00:00+02:00"})
    late = writer("POST", f"campaigns/{id}/schedule", {"at": "2020-03-29T09:00:00Z"})

    assert answer.json()["status"] == "scheduled"
    assert answer.json()["scheduled_at"] == "2150-03-29T07:00:00+00:00"
    assert late.status_code == 409
    assert writer("GET", "campaigns?status=scheduled").json()["items"][0]["id"] == id
    assert writer("GET", "campaigns?status=sent").json()["items"] == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"body": "{{ nmae.x }}"}, "body"),
        ({"lists": [999]}, "lists"),
        ({"domain": "none.example.com"}, "domain"),
        ({"reply_to": "x"}, "reply_to"),
        ({"track_opens": "yes"}, "track_opens"),
    ],
)
def test_what_is_wrong_with_a_draft_is_named(
    writer: Caller, news: ContactList, change: dict[str, Any], field: str
) -> None:
    answer = draft(writer, news, **change)

    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert not Campaign.objects.exists()


def test_what_cant_go_out_says_every_reason(writer: Caller, news: ContactList) -> None:
    id = draft(writer, news, lists=[]).json()["id"]
    answer = writer("POST", f"campaigns/{id}/send")

    assert (answer.status_code, answer.json()["type"].rpartition("#")[2]) == (409, "wrong-state")
    assert "choose at least one" in answer.json()["detail"]


def test_a_report_has_the_numbers_of_every_other_page(writer: Caller) -> None:
    campaign = CampaignFactory.create(status="sending")
    RecipientFactory.create_batch(2, campaign=campaign)
    RecipientFactory.create(campaign=campaign, status="failed", reason="550 no such user")
    answer = writer("GET", f"campaigns/{campaign.pk}/report").json()

    assert {"selected": 3, "ready": 2, "accepted": 0}.items() <= answer["numbers"].items()
    assert answer["numbers"]["by_status"]["failed"] == 1
    assert answer["reasons"] == [{"status": "failed", "reason": "550 no such user", "people": 1}]


@pytest.mark.parametrize("act", ["", "/report", "/send", "/pause", "/resume", "/cancel", "/schedule"])
def test_a_shops_token_does_nothing_to_campaigns(shop: Caller, act: str) -> None:
    campaign = CampaignFactory.create(status="sending")
    body = {
        "/pause": {"reason": "x"},
        "/cancel": {"reason": "x"},
        "/schedule": {"at": "2150-03-29T09:00:00Z"},
    }
    answer = shop("GET" if act in ("", "/report") else "POST", f"campaigns/{campaign.pk}{act}", body.get(act))

    assert answer.status_code == 403
    assert shop("POST", "campaigns", {"name": "x", "subject": "x", "body": "x"}).status_code == 403
    campaign.refresh_from_db()
    assert campaign.status == "sending"
