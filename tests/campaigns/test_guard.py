"""Guard rails: too many dead addresses or complaints stop a campaign, once, until a person has looked."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now
from pytest_django.fixtures import Settings

from campaigns import guard, services
from campaigns.guard import Rails, breaches
from campaigns.models import Campaign, Recipient
from contacts import services as contacts
from contacts.models import Contact, Suppression
from mailkoenig.monitoring import alerts
from mailkoenig.monitoring.models import Alert
from tests.factories import CampaignFactory, ContactListFactory, MembershipFactory

pytestmark = pytest.mark.django_db
RAILS = Rails(after=100, bounces=0.05, complaints=0.003, complaints_warning=0.001)


@pytest.fixture
def campaign() -> Campaign:
    """A campaign on its way, with somebody left to send to."""
    people = ContactListFactory.create()
    MembershipFactory.create(list=people)
    found: Campaign = CampaignFactory.create(status="sending", lists=[people])
    return found


def results(campaign: Campaign, status: str, count: int, *, is_dead: bool = True) -> None:
    """Note what came back of so many people."""
    first = Recipient.objects.count()
    people = Contact.objects.bulk_create(
        Contact(email=f"r{number}@example.com") for number in range(first, first + count)
    )
    Recipient.objects.bulk_create(
        Recipient(
            campaign=campaign,
            contact=person,
            email=person.email,
            status=status,
            sent_at=Now(),
            delivered_at=Now() if status == "delivered" else None,
        )
        for person in people
    )
    if status == "bounced" and is_dead:
        for person in people:
            contacts.suppress(
                address=person.email,
                reason=Suppression.Reason.BOUNCED,
                scope=Suppression.Scope.ALL,
                source="mailgun",
                event="e",
            )


def look() -> None:
    """Look as a worker does, as if the last look were long ago."""
    Campaign.objects.update(guarded_at=None)
    guard.Watch().look()


def state(campaign: Campaign) -> str:
    campaign.refresh_from_db()
    return campaign.status


@pytest.mark.parametrize(
    ("results", "bounces", "complaints", "kinds"),
    [
        (99, 99, 99, []),
        (100, 5, 0, []),
        (100, 6, 0, [("bounces", True)]),
        (1000, 0, 1, []),
        (1000, 0, 2, [("complaints", False)]),
        (1000, 0, 3, [("complaints", False)]),
        (1000, 0, 4, [("complaints", True)]),
        (1000, 51, 4, [("bounces", True), ("complaints", True)]),
    ],
)
def test_rates_are_judged_from_a_hundred_results_on(
    results: int, bounces: int, complaints: int, kinds: list[tuple[str, bool]]
) -> None:
    found = breaches(results=results, bounces=bounces, complaints=complaints, rails=RAILS)

    assert [(breach.kind, breach.stops) for breach in found] == kinds


def test_too_many_dead_addresses_stop_the_campaign_with_the_reason_and_a_trace(campaign: Campaign) -> None:
    results(campaign, "delivered", 94)
    results(campaign, "bounced", 6)

    look()

    assert state(campaign) == "paused"
    assert "6 of 100 results (6.0 %) are dead addresses, more than 5 %." in campaign.status_reason
    assert "Paused by a guard rail" in LogEntry.objects.get().change_message


def test_refusals_that_say_nothing_about_the_address_stop_nothing(campaign: Campaign) -> None:
    results(campaign, "delivered", 90)
    results(campaign, "bounced", 10, is_dead=False)

    look()

    assert state(campaign) == "sending"


def test_complaints_stop_the_campaign(campaign: Campaign) -> None:
    results(campaign, "delivered", 996)
    results(campaign, "complained", 4)

    look()

    assert state(campaign) == "paused"
    assert "complaints" in campaign.status_reason


def test_fewer_complaints_are_a_warning_and_it_goes_on(campaign: Campaign) -> None:
    results(campaign, "delivered", 998)
    results(campaign, "complained", 2)

    look()
    alerts.check(notify=True)

    assert state(campaign) == "sending"
    row = Alert.objects.get(kind="complaints")
    assert (row.subject, row.severity) == (f"campaign {campaign.pk}", "warning")


def test_a_resumed_campaign_is_not_stopped_again_for_what_was_known(campaign: Campaign) -> None:
    results(campaign, "delivered", 90)
    results(campaign, "bounced", 10)
    look()
    alerts.check(notify=True)
    assert Alert.objects.get(kind="bounces").cleared_at is None

    services.resume(campaign)
    look()
    alerts.check(notify=True)

    assert state(campaign) == "sending"
    assert Alert.objects.get(kind="bounces").cleared_at, "who resumes it has seen it"
    Campaign.objects.update(resumed_at=Now() - timedelta(seconds=1))
    Recipient.objects.update(sent_at=Now() - timedelta(minutes=1))
    results(campaign, "delivered", 110)
    results(campaign, "bounced", 1)
    look()
    assert state(campaign) == "sending", "one of 111 of what was sent since"
    results(campaign, "bounced", 9)
    look()
    assert state(campaign) == "paused"


def test_the_numbers_are_settings(campaign: Campaign, settings: Settings) -> None:
    settings.GUARD_AFTER_RESULTS, settings.GUARD_BOUNCES = 10, 0.5
    results(campaign, "delivered", 5)
    results(campaign, "bounced", 5)
    look()
    assert state(campaign) == "sending"

    results(campaign, "bounced", 1)
    look()

    assert state(campaign) == "paused"


def test_a_campaign_that_is_sent_is_only_told_of(campaign: Campaign) -> None:
    results(campaign, "delivered", 90)
    results(campaign, "bounced", 10)
    Campaign.objects.update(status="sent", finished_at=Now())

    look()

    assert state(campaign) == "sent"
    assert [found.kind for found in alerts.check(notify=False)] == ["bounces"]


def test_one_process_at_a_time_counts(campaign: Campaign) -> None:
    guard.refresh()
    results(campaign, "delivered", 90)
    results(campaign, "bounced", 10)

    guard.refresh()

    campaign.refresh_from_db()
    assert campaign.guard_results == 0, "another one has looked a moment ago"
