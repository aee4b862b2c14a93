"""What no webhook brought is known all the same, once, and whatever happens to the one who reads."""

import json
import logging
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models.functions import Now
from pytest_django.fixtures import Settings

from campaigns.delivery import Delivery
from campaigns.models import Campaign, Recipient, SendBatch, SenderDomain
from contacts.models import Contact
from events import poller, services
from events import sql_cursors as cursors
from events.models import Event, PollCursor
from mailkoenig.lib import db
from mailkoenig.providers.mailgun import payload
from mailkoenig.providers.mailgun.client import MailgunClient
from mailkoenig.providers.mailgun.log import MailgunLog
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.server import Simulator
from tests.factories import CampaignFactory, RecipientFactory, SendBatchFactory, SenderDomainFactory
from tests.turns import turn_of

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def nothing_else_happens(simulator: Simulator) -> None:
    simulator.happenings.pace = 0.0001


class SmallPages(MailgunLog):
    """Asks for few events at a time, and notes whether a transaction is open meanwhile."""

    was_in_transaction = False

    def pages(self, *args: Any, **options: Any) -> Iterator[list[dict[str, Any]]]:
        return super().pages(*args, **{**options, "limit": 10})

    def page(self, *args: Any, **options: Any) -> Any:
        self.was_in_transaction |= connection.in_atomic_block
        return super().page(*args, **options)


@pytest.fixture
def log() -> Iterator[SmallPages]:
    reader = SmallPages()
    yield reader
    reader.close()


@pytest.fixture
def campaign() -> Campaign:
    return CampaignFactory.create(status="sending", domain=SenderDomainFactory.create(name="mg.example.com"))


def send(campaign: Campaign, people: int) -> list[Recipient]:
    """Send to new people and return them."""
    recipients = RecipientFactory.create_batch(people, campaign=campaign)
    client = MailgunClient()
    Delivery(provider=client, worker="w1", persist=lambda write: write()).send_one(turn_of(campaign))
    client.close()
    return recipients


def poll(log: MailgunLog, *, pages: int = 3) -> int:
    """Read until nothing is due; return how many turns that took."""
    PollCursor.objects.update(next_at=Now())
    turns = 0
    while poller.turn(log, pages=pages):
        turns += 1
    return turns


def take() -> cursors.Reading | None:
    """Take the log as another worker would."""
    return cursors.take(lease=uuid4(), guard=MINUTE, overlap=MINUTE)


def states() -> dict[str, int]:
    return dict(Counter(Recipient.objects.values_list("status", flat=True)))


def test_a_night_without_webhooks_leaves_no_hole(
    campaign: Campaign, simulator: Simulator, log: MailgunLog
) -> None:
    people = RecipientFactory.create_batch(2, campaign=campaign)
    simulator.happenings.outcomes = {people[0].email: "bounced", people[1].email: "complained"}
    send(campaign, 2)

    poll(log)

    assert states() == {"delivered": 2, "bounced": 1, "complained": 1}
    assert Counter(Contact.objects.values_list("status", flat=True)) == {
        "active": 2,
        "bounced": 1,
        "complained": 1,
    }
    assert set(Event.objects.values_list("source", flat=True)) == {"poll"}


def test_the_same_event_by_both_ways_counts_once(campaign: Campaign, log: MailgunLog) -> None:
    send(campaign, 2)
    begin = db.now() - MINUTE
    for item in log.events("mg.example.com", begin=begin):
        services.ingest(payload.event(dict(item), received_at=begin), source=Event.Source.WEBHOOK)

    poll(log)
    poll(log)

    assert Counter(Event.objects.values_list("event_type", "source")) == {
        ("accepted", "webhook"): 2,
        ("delivered", "webhook"): 2,
    }


def test_what_the_log_shows_late_and_out_of_order_is_found(
    campaign: Campaign, simulator: Simulator, log: MailgunLog
) -> None:
    simulator.log.delay = 0.2
    simulator.log.shuffle = 1.0
    send(campaign, 50)
    poll(log)
    assert Event.objects.count() < 100

    time.sleep(1.3)  # noqa: TID251 - the simulated log takes its time
    poll(log)

    assert Event.objects.count() == 100


def test_only_the_overlap_is_read_again(campaign: Campaign, log: MailgunLog, settings: Settings) -> None:
    send(campaign, 2)
    poll(log)
    Event.objects.all().delete()

    PollCursor.objects.update(read_to=Now() - MINUTE)
    settings.EVENTS_POLL_OVERLAP = 0.001
    time.sleep(0.01)  # noqa: TID251 - so that the events lie before the next reading
    PollCursor.objects.update(read_to=Now())
    poll(log)
    assert Event.objects.count() == 0

    settings.EVENTS_POLL_OVERLAP = 60
    poll(log)
    assert Event.objects.count() == 4


def test_a_clock_that_was_ahead_leaves_no_hole(campaign: Campaign, log: MailgunLog) -> None:
    poll(log)
    PollCursor.objects.update(read_to=Now() + timedelta(days=1))
    send(campaign, 2)

    poll(log)

    assert Event.objects.count() == 4


@pytest.mark.parametrize(
    ("first", "begins"),
    [(None, 24), (timedelta(days=9), 24), (timedelta(hours=2), 2)],
    ids=["no batch", "long ago", "lately"],
)
def test_the_first_reading_begins_at_the_first_batch_but_no_more_than_a_day_back(
    first: timedelta | None, begins: int
) -> None:
    domain = SenderDomainFactory.create()
    if first:
        batch = SendBatchFactory.create(campaign=CampaignFactory.create(domain=domain))
        SendBatch.objects.filter(pk=batch.pk).update(claimed_at=Now() - first)

    cursors.add(furthest=poller.FURTHEST)

    age = db.now() - PollCursor.objects.get(domain=domain).read_to
    assert timedelta(hours=begins) <= age < timedelta(hours=begins, minutes=1)


def test_a_long_window_is_read_in_order_over_several_turns(
    campaign: Campaign, simulator: Simulator, log: MailgunLog
) -> None:
    simulator.happenings.pace = 0.2
    send(campaign, 40)
    time.sleep(0.5)  # noqa: TID251 - until all has happened

    assert poll(log, pages=1) > 3

    times = list(Event.objects.order_by("id").values_list("occurred_at", flat=True))
    assert len(times) == 80
    assert times == sorted(times)
    cursor = PollCursor.objects.get()
    assert (cursor.position, cursor.lease) == (None, None)


def test_who_dies_in_the_middle_is_followed_from_where_it_had_come(
    campaign: Campaign, simulator: Simulator, log: MailgunLog
) -> None:
    simulator.happenings.pace = 0.05
    send(campaign, 24)
    time.sleep(0.2)  # noqa: TID251 - until all has happened
    poller.turn(log, pages=4)
    half = Event.objects.count()
    assert take() is not None  # and never heard of again
    assert not poller.turn(log)

    PollCursor.objects.update(lease_expires_at=Now())
    Event.objects.all().delete()
    poll(log)

    assert half == 40
    # The last one is read again, as others may have happened at the same moment.
    assert Event.objects.count() == 48 - half + 1
    assert states() == {"delivered": 24}


def test_one_log_has_one_reader(campaign: Campaign) -> None:
    cursors.add(furthest=MINUTE)

    assert [take() is not None, take() is not None] == [True, False]


def test_who_has_lost_the_lease_changes_nothing(campaign: Campaign) -> None:
    cursors.add(furthest=MINUTE)
    late = take()
    assert late
    PollCursor.objects.update(lease_expires_at=Now())
    other = take()
    assert other

    assert not cursors.advance(lease=late.lease, position=late.end, guard=MINUTE)
    assert not cursors.finish(lease=late.lease, after=MINUTE)
    assert cursors.put_off(lease=late.lease, finding="x", after=MINUTE, longest=MINUTE) is None
    assert PollCursor.objects.get().lease == other.lease


def test_a_log_that_cannot_be_read_is_asked_less_and_less_and_says_why_once(
    campaign: Campaign,
    simulator: Simulator,
    log: MailgunLog,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, logger=poller.logger.name)
    send(campaign, 1)
    simulator.fault(Fault("unauthorized", on="events", times=3))
    waits = []
    for _ in range(3):
        poll(log)
        waits.append(round((PollCursor.objects.get().next_at - db.now()).total_seconds(), -1))

    assert waits == [300, 600, 1200]
    assert len(caplog.records) == 1
    assert "MAILGUN_API_KEY" in PollCursor.objects.get().finding
    poll(log)
    assert (PollCursor.objects.get().finding, states()) == ("", {"delivered": 1})


def test_one_domain_that_fails_does_not_keep_the_others(
    campaign: Campaign, simulator: Simulator, log: MailgunLog
) -> None:
    send(campaign, 1)
    SenderDomainFactory.create(name="elsewhere.example.com")
    simulator.fault(Fault("not_found", on="events", times=None, only={"domain": "elsewhere.example.com"}))

    poll(log)

    assert states() == {"delivered": 1}


@pytest.mark.parametrize(
    "odd",
    [
        {"event": "opened", "id": "\x00\ud800", "recipient": "x\x00@example.com"},
        {"event": ["opened"], "timestamp": {"a": 1}, "user-variables": [1]},
        {"event": "delivered", "timestamp": 99_999_999_999, "recipient": 7},
        {"deep": [[[[]]]], "id": "d" * 300},
    ],
    ids=["unstorable text", "no types", "far future", "long id"],
)
def test_an_odd_event_keeps_nobody_back(
    campaign: Campaign, simulator: Simulator, log: MailgunLog, odd: dict[str, Any]
) -> None:
    send(campaign, 1)
    item = next(log.events("mg.example.com", begin=db.now() - MINUTE))
    nested: Any = []
    for _ in range(100):
        nested = [nested]
    page = {"items": [odd, {"nested": nested}, "no object", item], "paging": {}}
    simulator.fault(Fault("answer", on="events", body=json.dumps(page)))

    poll(log)

    assert Event.objects.filter(event_type="accepted").count() == 1
    assert PollCursor.objects.get().finding == ""


def test_many_acceptances_at_once_are_recorded_as_one_by_one(campaign: Campaign, log: MailgunLog) -> None:
    send(campaign, 8)
    begin = db.now() - MINUTE
    Recipient.objects.filter(pk__in=Recipient.objects.all()[:2]).update(status="pending", sent_at=None)
    found = [
        payload.event(dict(item), received_at=begin)
        for item in log.events("mg.example.com", begin=begin)
        if item["event"] == "accepted"
    ]

    left = services.ingest_acceptances(found, source=Event.Source.POLL)

    assert [event.recipient for event in left] == list(
        Recipient.objects.filter(status="pending").order_by("id").values_list("pk", flat=True)
    )
    at_once = rows()
    assert SendBatch.objects.get().evidence_at == found[0].occurred_at
    Event.objects.all().delete()
    for event in found:
        services.ingest(event, source=Event.Source.POLL)
    assert at_once == rows()[2:]
    assert states() == {"sent": 8}


def rows() -> list[tuple[object, ...]]:
    """Return every recorded event without what differs each time."""
    fields = [field.attname for field in Event._meta.fields if field.name not in ("id", "received_at")]
    return list(Event.objects.order_by("id").values_list(*fields))


@pytest.mark.parametrize(("name", "value"), [("MAILGUN_API_KEY", ""), ("EVENTS_POLL_EVERY", 0)])
def test_it_says_why_it_is_off(settings: Settings, name: str, value: object) -> None:
    assert poller.missing() == ""

    setattr(settings, name, value)

    assert name in poller.missing()


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_the_provider_is_asked(campaign: Campaign, log: SmallPages) -> None:
    send(campaign, 20)

    poll(log)

    assert not log.was_in_transaction
    assert Event.objects.count() == 40


def test_every_domain_is_read(log: MailgunLog) -> None:
    SenderDomainFactory.create_batch(3)
    SenderDomain.objects.update(status="paused")

    assert poll(log) == 3
