"""What may be done to a campaign, and when."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from campaigns import services
from campaigns.models import Campaign
from campaigns.services import NotSendable
from mailkoenig.lib import db
from tests.factories import (
    CampaignFactory,
    ContactFactory,
    ContactListFactory,
    MembershipFactory,
    SenderDomainFactory,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def draft() -> Campaign:
    audience = ContactListFactory.create()
    MembershipFactory.create(list=audience, contact=ContactFactory.create(attributes={"city": "Köln"}))
    return CampaignFactory.create(lists=[audience])


def test_starting_only_marks_the_campaign(draft: Campaign) -> None:
    services.start(draft)

    assert (draft.status, draft.recipients.count()) == ("sending", 0)
    assert draft.started_at is not None


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("Hello {{ frist_name }}", "frist_name"),
        ("Hello { { name } }", "{"),
        ("Hello %recipient.name%", "%recipient"),
        ("Hello {% load static %}", "load"),
        ("Hello {% if name %}", "if"),
        ("Hello {{ name.__class__ }}", "__class__"),
    ],
)
def test_a_broken_mail_does_not_start_and_the_place_is_named(draft: Campaign, body: str, word: str) -> None:
    draft.body = body
    draft.save()

    with pytest.raises(NotSendable, match=r"[Bb]ody") as refusal:
        services.start(draft)

    assert word in str(refusal.value)
    draft.refresh_from_db()
    assert draft.status == "draft"


def test_a_tag_that_somebody_has_is_known(draft: Campaign) -> None:
    draft.body = "Hello {{ city }}"
    draft.save()

    services.start(draft)

    assert draft.status == "sending"


def test_without_anybody_to_mail_it_does_not_start() -> None:
    nobody = CampaignFactory.create()
    empty = CampaignFactory.create(lists=[ContactListFactory.create()])
    gone = ContactListFactory.create()
    MembershipFactory.create(list=gone, contact=ContactFactory.create(status="bounced"))

    for campaign in (nobody, empty, CampaignFactory.create(lists=[gone])):
        with pytest.raises(NotSendable, match="list"):
            services.start(campaign)


def test_without_a_domain_the_shared_one_is_used_or_the_lack_is_named(draft: Campaign) -> None:
    draft.domain = None
    draft.save()
    with pytest.raises(NotSendable, match="domain"):
        services.start(draft)

    shared = SenderDomainFactory.create(is_shared=True)
    services.start(draft)

    assert draft.domain == shared


def test_a_paused_domain_stops_the_start_with_its_reason(draft: Campaign) -> None:
    assert draft.domain is not None
    services.pause_domain(draft.domain, reason="401: Forbidden")

    with pytest.raises(NotSendable, match="401: Forbidden"):
        services.start(draft)


def test_a_schedule_in_the_past_is_refused(draft: Campaign) -> None:
    with pytest.raises(NotSendable, match="passed"):
        services.schedule(draft, at=db.now() - timedelta(minutes=1))


def test_a_schedule_can_be_set_changed_and_taken_back(draft: Campaign) -> None:
    at = db.now() + timedelta(days=1)

    services.schedule(draft, at=at)
    services.schedule(draft, at=at + timedelta(days=1))
    assert (draft.status, draft.scheduled_at) == ("scheduled", at + timedelta(days=1))

    services.unschedule(draft)
    assert draft.status == "draft"


@pytest.mark.parametrize(
    ("status", "act"),
    [
        ("sent", services.start),
        ("sending", services.start),
        ("cancelled", services.resume),
        ("draft", services.pause),
        ("sent", services.cancel),
        ("draft", services.resume),
        ("paused", services.start),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_state(
    draft: Campaign, status: str, act: Callable[[Campaign], None]
) -> None:
    Campaign.objects.update(status=status)

    with pytest.raises(NotSendable, match=f"is {status}"):
        act(draft)

    draft.refresh_from_db()
    assert draft.status == status


def test_pause_resume_cancel_keep_their_reasons(draft: Campaign) -> None:
    Campaign.objects.update(status="sending", started_at=Now())

    services.pause(draft, reason="Wrong link.")
    assert (draft.status, draft.status_reason) == ("paused", "Wrong link.")
    services.resume(draft)
    assert (draft.status, draft.status_reason) == ("sending", "")
    services.cancel(draft)
    assert draft.status == "cancelled"
    assert draft.finished_at is not None
