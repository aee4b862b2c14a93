"""Starting, stopping and scheduling: asked first, done once, noted."""

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client, override_settings
from django.utils import timezone

from campaigns import audience
from campaigns.models import Campaign
from contacts.models import Contact
from tests.campaigns.admin.pages import a_list, page, sendable
from tests.factories import ContactFactory, MembershipFactory, SuppressionFactory

pytestmark = pytest.mark.django_db


def text(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def test_the_question_says_who_gets_it_and_who_does_not(sender: Client) -> None:
    people = a_list(people=3)
    gone = ContactFactory.create(status="unsubscribed")
    barred = ContactFactory.create()
    SuppressionFactory.create(address=barred.email, reason="bounced")
    for contact in (gone, barred):
        MembershipFactory.create(list=people, contact=contact)
    campaign = sendable(lists=[people, a_list(people=0)])
    shown = text(sender, page(campaign, "send"))
    assert "to 3 people now" in shown
    assert "2 on its lists are left out" in shown
    assert "1 unsubscribed" in shown
    assert "1 bounced" in shown
    assert campaign.from_email in shown


def test_somebody_on_two_lists_is_counted_once() -> None:
    one, two = a_list(people=1), a_list(people=0)
    MembershipFactory.create(list=two, contact=Contact.objects.get())
    found = audience.count(sendable(lists=[one, two]))
    assert found is not None
    assert found.people == 1


@pytest.mark.django_db(transaction=True)
def test_an_audience_that_takes_too_long_to_count_is_confirmed_by_name(
    sender: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = sendable(name="October news")
    monkeypatch.setattr(audience, "PATIENCE_MS", 200)
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("LOCK TABLE suppressions IN ACCESS EXCLUSIVE MODE")
        shown = text(sender, page(campaign, "send"))
        assert "Type October news to confirm" in shown
        sender.post(page(campaign, "send"), {"typed": "October news"})
    campaign.refresh_from_db()
    assert campaign.status == "sending"


def test_sending_takes_the_typed_number(sender: Client) -> None:
    campaign = sendable()
    assert sender.post(page(campaign, "send"), {"typed": "3", "shown": "2"}).status_code == 200
    campaign.refresh_from_db()
    assert campaign.status == "draft"
    assert sender.post(page(campaign, "send"), {"typed": " 2 ", "shown": "2"}).status_code == 302
    campaign.refresh_from_db()
    assert campaign.status == "sending"


def test_a_list_that_grew_meanwhile_asks_again(sender: Client) -> None:
    people = a_list()
    campaign = sendable(lists=[people])
    MembershipFactory.create(list=people)
    answer = sender.post(page(campaign, "send"), {"typed": "2", "shown": "2"})
    assert "it is 3 now" in answer.content.decode()
    campaign.refresh_from_db()
    assert campaign.status == "draft"


def test_sending_twice_starts_once_and_is_noted_once(sender: Client) -> None:
    campaign = sendable()
    for _ in range(2):
        answer = sender.post(page(campaign, "send"), {"typed": "2", "shown": "2"}, follow=True)
    assert "nothing was changed" in answer.content.decode()
    assert LogEntry.objects.filter(object_id=str(campaign.pk)).count() == 1


def test_what_keeps_it_from_going_out_is_said_with_what_to_do(sender: Client) -> None:
    campaign = sendable(body="{{ nobody.knows }}", lists=[])
    shown = text(sender, page(campaign, "send"))
    assert "It goes to no list: choose at least one." in shown
    assert "nobody.knows" in shown
    sender.post(page(campaign, "send"), {"typed": "0", "shown": "0"})
    campaign.refresh_from_db()
    assert campaign.status == "draft"


def test_a_domain_that_is_paused_between_asking_and_doing_is_shown_and_nothing_starts(sender: Client) -> None:
    campaign = sendable()
    assert campaign.domain is not None
    campaign.domain.status, campaign.domain.paused_reason = "paused", "401 Forbidden"
    campaign.domain.save()
    answer = sender.post(page(campaign, "send"), {"typed": "2", "shown": "2"})
    assert "401 Forbidden" in answer.content.decode()


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("pause", "sending", "paused"),
        ("resume", "paused", "sending"),
        ("cancel", "sending", "cancelled"),
        ("cancel", "paused", "cancelled"),
        ("cancel", "scheduled", "cancelled"),
        ("unschedule", "scheduled", "draft"),
    ],
)
def test_each_act_moves_the_campaign_and_leaves_a_trace(
    sender: Client, name: str, before: str, after: str
) -> None:
    campaign = sendable(status=before, scheduled_at="2099-01-01T09:00Z")
    assert sender.get(page(campaign, name)).status_code == 200
    assert sender.post(page(campaign, name), {"reason": "Wrong prices"}).status_code == 302
    campaign.refresh_from_db()
    assert campaign.status == after
    assert LogEntry.objects.get().get_change_message()


def test_cancelling_wants_a_reason_that_is_kept(sender: Client) -> None:
    campaign = sendable(status="sending")
    assert sender.post(page(campaign, "cancel"), {"reason": ""}).status_code == 200
    campaign.refresh_from_db()
    assert campaign.status == "sending"

    sender.post(page(campaign, "cancel"), {"reason": "Wrong prices"})

    campaign.refresh_from_db()
    assert campaign.status_reason == "Wrong prices"
    assert LogEntry.objects.get().get_change_message() == "Cancelled: Wrong prices"


def test_an_act_that_came_too_late_changes_nothing(sender: Client) -> None:
    campaign = sendable(status="sent")
    answer = sender.post(page(campaign, "pause"), follow=True)
    assert "It is sent: nothing was changed." in answer.content.decode()
    assert not LogEntry.objects.exists()


def test_a_campaign_that_is_not_there_is_no_error(sender: Client) -> None:
    campaign = Campaign(pk=999_999)
    for name in ("send", "preview", "change"):
        assert sender.get(page(campaign, name)).status_code == 302


class TestBerlin:
    """Case C68: schedules round the change of clocks."""

    @pytest.fixture(autouse=True)
    def berlin(self) -> object:
        with override_settings(TIME_ZONE="Europe/Berlin"), timezone.override("Europe/Berlin"):
            yield

    def schedule(self, client: Client, campaign: Campaign, at: str, **more: str) -> str:
        return client.post(page(campaign, "schedule"), {"at": at, **more}, follow=True).content.decode()

    def test_the_hour_that_the_clocks_skip_is_refused_with_what_to_choose(self, sender: Client) -> None:
        campaign = sendable()
        shown = self.schedule(sender, campaign, "2027-03-28T02:30")
        assert "02:30 does not exist on 2027-03-28" in shown
        assert "Choose 03:30" in shown
        assert 'value="2027-03-28T02:30"' in shown
        campaign.refresh_from_db()
        assert (campaign.status, campaign.scheduled_at) == ("draft", None)

    def test_the_hour_that_comes_twice_is_asked_for_and_starts_at_the_stated_turn(
        self, sender: Client
    ) -> None:
        campaign = sendable()
        shown = self.schedule(sender, campaign, "2027-10-31T02:30")
        assert "happens twice" in shown
        assert "the second, at UTC+1" in shown
        self.schedule(sender, campaign, "2027-10-31T02:30", turn="1")
        campaign.refresh_from_db()
        assert campaign.scheduled_at is not None
        assert campaign.scheduled_at.isoformat() == "2027-10-31T01:30:00+00:00"

    def test_nine_in_the_morning_is_nine_in_the_morning_after_the_change(self, sender: Client) -> None:
        campaign = sendable()
        shown = self.schedule(sender, campaign, "2027-03-29T09:00")
        assert "2027-03-29 at 09:00 (Europe/Berlin, UTC+2)" in shown
        again = text(sender, page(campaign, "schedule"))
        assert 'value="2027-03-29T09:00"' in again
        assert "Europe/Berlin" in again

    def test_a_time_that_has_passed_is_refused(self, sender: Client) -> None:
        campaign = sendable()
        assert "has passed" in self.schedule(sender, campaign, "2020-01-01T09:00")
        campaign.refresh_from_db()
        assert campaign.status == "draft"
