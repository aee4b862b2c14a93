"""The operator's levers: each does what it says once, leaves a trace, and keeps what waits."""

from collections.abc import Callable

import pytest
from django.contrib.admin.models import LogEntry

from campaigns import housekeeping, installation, resolver, services
from campaigns.delivery import Delivery
from campaigns.mail import MessageTurn
from campaigns.models import Campaign, Installation, Message, Stream
from campaigns.sql import messages
from mailkoenig.lib import audit, db
from mailkoenig.lib.command import UserError
from mailkoenig.providers.mailgun.client import MailgunClient
from mailkoenig.simulator import Simulator
from tests.factories import (
    CampaignFactory,
    ContactListFactory,
    MembershipFactory,
    MessageFactory,
    SendBatchFactory,
    SenderDomainFactory,
)

pytestmark = pytest.mark.django_db
BY = "ada on the command line"


def receipts() -> Stream:
    return Stream.objects.get(name="receipts")


def trail() -> list[tuple[str, str, str]]:
    """Return who did what to what, the first act first."""
    entries = LogEntry.objects.order_by("id").select_related("user")
    return [(entry.user.get_username(), entry.object_repr, entry.get_change_message()) for entry in entries]


def room() -> int:
    return int(db.value("SELECT stream_room(id) FROM streams WHERE name = 'receipts'"))


LEVERS: list[tuple[Callable[[Stream], bool], dict[str, object], str]] = [
    (
        lambda stream: services.pause_stream(stream, reason="Wrong prices", by=BY),
        {"paused": True, "paused_reason": "Wrong prices", "paused_by": BY},
        "Paused: Wrong prices",
    ),
    (lambda stream: services.drain_stream(stream, by=BY), {"draining": True}, "Draining."),
    (
        lambda stream: services.set_concurrency(stream, 3, by=BY, reason="slow"),
        {"concurrency": 3},
        "Calls at a time: 3 instead of 16: slow",
    ),
    (
        lambda stream: services.reduce_to_one(stream, by=BY),
        {"concurrency": 1},
        "Calls at a time: 1 instead of 16.",
    ),
    (
        lambda stream: services.set_rate(stream, 60, by=BY),
        {"rate_per_minute": 60},
        "Mails a minute: 60 instead of no limit.",
    ),
]


@pytest.mark.parametrize(("pull", "after", "words"), LEVERS)
def test_each_lever_changes_the_stream_once_and_leaves_one_trace(
    pull: Callable[[Stream], bool], after: dict[str, object], words: str
) -> None:
    assert pull(receipts())
    assert not pull(receipts())

    assert {name: getattr(receipts(), name) for name in after} == after
    assert trail() == [(BY, "receipts", words)]


def test_a_pause_and_a_drain_are_taken_back() -> None:
    services.pause_stream(receipts(), reason="Wrong prices", by=BY)
    services.drain_stream(receipts(), by=BY)

    assert services.resume_stream(receipts(), by=BY)
    assert services.undrain_stream(receipts(), by=BY)

    assert (receipts().paused, receipts().paused_reason, receipts().draining) == (False, "", False)
    assert [words for _, _, words in trail()[2:]] == ["Resumed.", "Takes new mail again."]
    assert not services.resume_stream(receipts(), by=BY)
    assert not services.undrain_stream(receipts(), by=BY)


def test_a_lower_rate_lowers_the_burst_and_no_rate_ends_it() -> None:
    Stream.objects.filter(name="receipts").update(rate_per_minute=600, burst=100)

    services.set_rate(receipts(), 60, by=BY)
    assert (receipts().rate_per_minute, receipts().burst) == (60, 60)
    services.set_rate(receipts(), None, by=BY)
    assert (receipts().rate_per_minute, receipts().burst) == (None, None)
    assert trail()[0][2] == "Mails a minute: 60 instead of 600. Burst: 60 instead of 100."


@pytest.mark.parametrize("calls", [0, -1, 1001])
def test_limits_that_stop_everything_are_refused_with_the_lever_that_does(calls: int) -> None:
    with pytest.raises(UserError, match="pause it instead"):
        services.set_concurrency(receipts(), calls, by=BY)
    assert trail() == []


def test_a_draining_stream_sends_what_it_holds_and_takes_nothing_new(simulator: Simulator) -> None:
    MessageFactory.create()
    services.drain_stream(receipts(), by=BY)

    with pytest.raises(services.MessageRefused, match="drained"):
        services.enqueue_message(
            stream="receipts", idempotency_key="new", to="ada@example.com", subject="Hi", text="Hi"
        )

    send_all()
    assert Message.objects.get().status == "sent"


def test_the_emergency_stop_holds_every_stream_also_before_the_first_worker_ran() -> None:
    assert not Installation.objects.exists()

    assert services.stop_everything(reason="Leak", by=BY)
    assert not services.stop_everything(reason="Again", by="bob on the command line")

    assert room() == 0
    found = services.stopped()
    assert found
    assert (found.stopped_by, found.stopped_reason) == (BY, "Leak")
    assert installation.Gate().reason() == ""
    assert services.go_on(by=BY)
    assert not services.go_on(by=BY)
    assert room() == 1
    assert services.stopped() is None
    assert trail() == [(BY, "all sending", "Stopped: Leak"), (BY, "all sending", "Goes on.")]


def send_all() -> None:
    delivery = Delivery(provider=MailgunClient(), worker="w", persist=lambda write: write())
    while any(
        delivery.send_one(MessageTurn(found.stream, found.domain)) for found in messages.ready(receipts().pk)
    ):
        pass


def test_the_emergency_stop_between_claim_and_call_gives_everything_back(simulator: Simulator) -> None:
    MessageFactory.create()
    (turn,) = messages.ready(receipts().pk)
    services.stop_everything(reason="Leak", by=BY)

    Delivery(provider=MailgunClient(), worker="w", persist=lambda write: write()).send_one(
        MessageTurn(turn.stream, turn.domain)
    )

    assert not simulator.calls
    assert Message.objects.get().status == "pending"
    services.go_on(by=BY)
    send_all()
    assert len(simulator.calls) == 1


def test_only_what_is_still_ready_is_cancelled() -> None:
    ready, sent = MessageFactory.create(), MessageFactory.create(status="sent")

    assert services.cancel_messages([ready.pk, sent.pk], by=BY, reason="Wrong order") == 1

    ready.refresh_from_db()
    assert (ready.status, ready.reason) == ("cancelled", f"Cancelled by {BY}: Wrong order")
    assert trail() == [(BY, ready.idempotency_key, "Cancelled: Wrong order")]
    assert services.cancel_messages([ready.pk], by=BY) == 0


def test_everything_ready_of_one_stream_is_cancelled_and_no_other() -> None:
    MessageFactory.create_batch(2)
    other = MessageFactory.create(stream=Stream.objects.get(name="password-resets"))

    assert services.cancel_ready(receipts(), by=BY) == 2

    other.refresh_from_db()
    assert other.status == "pending"
    assert trail() == [(BY, "receipts", "Cancelled 2 messages that were ready.")]
    assert services.cancel_ready(receipts(), by=BY) == 0


def test_chosen_dead_letters_go_out_again_and_the_trail_keeps_what_they_died_of(simulator: Simulator) -> None:
    dead = MessageFactory.create(status="failed", reason="550 Mailbox on fire", attempts=5)
    other = MessageFactory.create(status="failed", reason="Another")

    assert services.requeue_messages(ids=[dead.pk], by=BY, reason="fire is out") == 1

    dead.refresh_from_db()
    assert (dead.status, dead.reason, dead.attempts) == ("pending", "", 0)
    who, what, words = trail()[0]
    assert (who, what) == (BY, dead.idempotency_key)
    assert words == "Requeued: fire is out It had died: 550 Mailbox on fire"
    other.refresh_from_db()
    assert other.status == "failed"


def test_all_dead_letters_of_a_stream_are_counted_by_what_they_died_of() -> None:
    MessageFactory.create_batch(3, status="failed", reason="Given up after 5 attempts.")
    MessageFactory.create(status="failed", reason="413 Too large")
    MessageFactory.create(status="failed", reason="other", stream=Stream.objects.get(name="password-resets"))

    assert services.requeue_messages(stream=receipts(), by=BY) == 4

    assert trail() == [
        (
            BY,
            "receipts",
            "Requeued 4 messages. They had died: 3 of “Given up after 5 attempts.”; 1 of “413 Too large”.",
        )
    ]
    assert services.requeue_messages(stream=receipts(), by=BY) == 0


def test_what_a_campaign_goes_through_is_in_the_trail_whoever_did_it() -> None:
    people = ContactListFactory.create()
    MembershipFactory.create(list=people)
    campaign = CampaignFactory.create(lists=[people])

    services.start(campaign, by="API token shop")
    services.pause(campaign, reason="A mistake", by=BY)
    services.resume(campaign)
    services.cancel(campaign, by=BY)

    assert [(who, words) for who, _, words in trail()] == [
        ("API token shop", "Sending began."),
        (BY, "Paused: A mistake"),
        (audit.OWN_CODE, "Resumed."),
        (BY, "Cancelled."),
    ]


def test_what_workers_do_by_themselves_is_in_the_trail() -> None:
    CampaignFactory.create(name="Due", status="scheduled", scheduled_at=db.now())
    CampaignFactory.create(name="Late", status="scheduled", scheduled_at="2020-01-01T09:00Z")

    housekeeping.activate()

    assert sorted((who, what, words) for who, what, words in trail()) == [
        (audit.WORKER, "Due", "Started as scheduled."),
        (audit.WORKER, "Late", "Paused: it missed its time."),
    ]


def test_a_decision_about_an_unknown_outcome_is_in_the_trail_of_the_campaign_or_message() -> None:
    message = MessageFactory.create()
    held = {"state": "unknown", "started_at": db.now(), "held_at": db.now()}
    of_campaign = SendBatchFactory.create(**held, size=3)
    of_message = SendBatchFactory.create(
        **held, campaign=None, domain=message.domain, message_id=message.pk, size=1
    )

    resolver.settle_held(of_campaign.pk, as_sent=True, by=BY)
    resolver.settle_held(of_message.pk, as_sent=False, by=BY)

    assert trail() == [
        (BY, str(of_campaign.campaign), "Counted as sent, as the outcome for 3 people was unclear."),
        (BY, message.idempotency_key, "Sent again, as the outcome for 1 person was unclear."),
    ]


def test_a_domain_is_paused_and_resumed_with_a_trace_and_nothing_done_leaves_none() -> None:
    domain = SenderDomainFactory.create()

    assert services.pause_domain(domain, reason="Key rotated", by=BY)
    assert not services.pause_domain(domain, reason="Again", by=BY)
    assert services.resume_domain(domain, by=BY)
    assert not services.resume_domain(domain, by=BY)

    assert [words for _, _, words in trail()] == ["Paused: Key rotated", "Resumed."]
    assert not Campaign.objects.exists()
