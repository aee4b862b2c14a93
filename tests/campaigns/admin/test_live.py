"""A campaign while it goes out: one vocabulary, every reason, every wait."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.test import Client

from campaigns import progress
from campaigns.models import Campaign, Recipient, SendBatch, SenderDomain, Stream
from mailkoenig.lib.clocks import span
from tests.campaigns.admin.pages import page, sendable
from tests.factories import RecipientFactory, SendBatchFactory

pytestmark = pytest.mark.django_db


def sending(**changes: object) -> Campaign:
    """Return a campaign whose people are selected."""
    campaign = sendable(status="sending")
    Campaign.objects.filter(pk=campaign.pk).update(
        **{"started_at": Now(), "snapshot_finished_at": Now(), **changes}
    )
    campaign.refresh_from_db()
    return campaign


def waits(campaign: Campaign) -> list[str]:
    return [wait.text for wait in progress.waits(campaign, at=progress.look(campaign.pk))]


def test_accepted_and_delivered_are_never_mixed(writer: Client) -> None:
    campaign = sending()
    RecipientFactory.create(campaign=campaign)
    RecipientFactory.create(campaign=campaign, status="sent", sent_at=Now())
    RecipientFactory.create(campaign=campaign, status="delivered", sent_at=Now(), delivered_at=Now())
    RecipientFactory.create(campaign=campaign, status="bounced", sent_at=Now(), reason="550 no such user")
    answer = writer.get(page(campaign, "progress")).json()
    assert (answer["selected"], answer["accepted"], answer["delivered"]) == (4, 3, 1)
    assert {name: count for name, count in answer["counts"].items() if count} == {
        "pending": 1,
        "sent": 1,
        "delivered": 1,
        "bounced": 1,
    }
    assert "3 of 4 accepted by the provider" in " ".join(answer["html"].split())


def test_every_state_but_the_good_ones_shows_its_reason_in_the_providers_words(writer: Client) -> None:
    campaign = sending()
    batch = SendBatchFactory.create(
        campaign=campaign, state="unknown", started_at=Now(), answer="Read timed out"
    )
    for status, reason in [
        ("failed", "to parameter is not a valid address"),
        ("skipped", "unsubscribed"),
        ("bounced", "550 5.1.1 <No> such user"),
    ]:
        RecipientFactory.create(campaign=campaign, status=status, reason=reason)
    RecipientFactory.create(campaign=campaign, status="unknown", reason="Read timed out", batch=batch)
    shown = writer.get(page(campaign)).content.decode()
    for words in ("to parameter is not a valid address", "unsubscribed", "550 5.1.1 &lt;No&gt; such user"):
        assert words in shown
    assert str(batch.pk)[:8] in shown
    assert "Not clear yet" in shown


def test_the_page_works_without_script_and_refreshes_with_it(writer: Client) -> None:
    campaign = sending()
    RecipientFactory.create(campaign=campaign)
    shown = writer.get(page(campaign)).content.decode()
    assert f'data-progress="{page(campaign, "progress")}"' in shown
    assert 'data-count="ready">1<' in shown


def test_a_domain_that_waits_says_until_when_and_why() -> None:
    campaign = sending()
    SenderDomain.objects.update(held_until=Now() + timedelta(minutes=5), held_reason="429 Too many requests")
    campaign.refresh_from_db()
    [said] = waits(campaign)
    assert "waits until" in said
    assert "429 Too many requests" in said


def test_a_domain_that_is_paused_says_why() -> None:
    campaign = sending()
    SenderDomain.objects.update(status="paused", paused_reason="401 Invalid private key")
    campaign.refresh_from_db()
    assert "401 Invalid private key" in waits(campaign)[0]


def test_a_stream_that_is_paused_says_by_whom_and_why() -> None:
    campaign = sending()
    Stream.objects.filter(name="campaigns").update(paused=True, paused_reason="Wrong prices", paused_by="ada")
    assert waits(campaign) == ["All campaigns wait. Paused by ada: Wrong prices."]


def test_a_limit_that_slows_it_is_said_where_people_wait_for_it() -> None:
    campaign = sending()
    Stream.objects.filter(name="campaigns").update(rate_per_minute=60)
    SendBatchFactory.create(campaign=campaign, size=60, state="accepted", started_at=Now())
    assert waits(campaign) == []

    RecipientFactory.create(campaign=campaign)
    (text,) = waits(campaign)
    assert text.startswith("Rate limit of 60 a minute, next slot in ")


def test_a_campaign_with_nothing_but_unknown_outcomes_says_that_it_waits_for_them() -> None:
    campaign = sending()
    batch = SendBatchFactory.create(campaign=campaign, state="unknown", started_at=Now())
    RecipientFactory.create_batch(2, campaign=campaign, status="unknown", batch=batch)

    (text,) = waits(campaign)
    assert text.startswith("It waits for 2 people of whom nobody knows yet")


@pytest.mark.parametrize(
    ("minutes", "changes", "is_estimated"),
    [(3, {}, True), (0, {}, False), (3, {"paused": True, "paused_reason": "Wrong"}, False)],
)
def test_how_long_it_takes_is_said_once_it_moves_and_while_it_does(
    minutes: int, changes: dict[str, object], is_estimated: bool, writer: Client
) -> None:
    campaign = sending(started_at=Now() - timedelta(minutes=minutes))
    RecipientFactory.create_batch(10, campaign=campaign)
    SendBatchFactory.create(campaign=campaign, state="accepted", accepted=5, size=5, settled_at=Now())
    Stream.objects.filter(name="campaigns").update(**changes)

    shown = writer.get(page(campaign, "progress")).json()["html"]

    assert ("about 2 minutes left" in shown) is is_estimated


def test_nobody_working_is_said_after_two_minutes() -> None:
    campaign = sending(started_at=Now() - timedelta(minutes=3))
    RecipientFactory.create(campaign=campaign)
    assert waits(campaign) == [
        "No worker has settled anything for 3 minutes: see that run_sender is running."
    ]


def test_a_worker_that_settled_just_now_is_no_wait() -> None:
    campaign = sending(started_at=Now() - timedelta(minutes=30))
    RecipientFactory.create(campaign=campaign)
    SendBatchFactory.create(campaign=campaign, state="accepted", settled_at=Now(), accepted=40)
    assert waits(campaign) == []
    assert progress.look(campaign.pk).pace.last_minute == 40


def test_people_who_are_tried_again_later_are_a_wait_with_its_end() -> None:
    campaign = sending(started_at=Now() - timedelta(minutes=30))
    RecipientFactory.create(campaign=campaign, next_attempt_at=Now() + timedelta(minutes=4), attempts=1)
    assert "The next try is at" in waits(campaign)[0]


def test_a_paused_campaign_says_why() -> None:
    campaign = sending(status="paused", status_reason="The provider refuses it: 400 bad from")
    assert "400 bad from" in waits(campaign)[0]


def test_a_draft_shows_no_numbers(writer: Client) -> None:
    assert "mk-funnel" not in writer.get(page(sendable())).content.decode()


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (0, "0 seconds"),
        (1, "1 second"),
        (59, "59 seconds"),
        (125, "2 minutes"),
        (3_700, "1 hour 1 minute"),
        (90_000, "1 day 1 hour"),
    ],
)
def test_lengths_of_time_read_as_people_say_them(length: int, words: str) -> None:
    assert span(timedelta(seconds=length)) == words


def test_labels_are_the_words_of_the_states() -> None:
    assert [Recipient.Status(s).label for s in ("pending", "sending", "sent")] == [
        "ready",
        "leased",
        "accepted",
    ]
    assert SendBatch.State.IN_FLIGHT.label == "in flight"
