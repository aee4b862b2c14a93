"""The real worker process against a real server: killed in each phase, stopped politely, restarted."""

import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection, transaction
from pytest_django.fixtures import Settings

from campaigns.models import Campaign, Recipient, SendBatch, Stream
from contacts.models import Contact, ContactList, Membership
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.server import Simulator
from tests.factories import CampaignFactory, ContactListFactory, SenderDomainFactory
from tests.processes import eventually, manage, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
TIMEOUTS = {"MAILGUN_CONNECT_TIMEOUT": "1", "MAILGUN_READ_TIMEOUT": "20"}


@pytest.fixture
def campaign() -> Campaign:
    """A campaign to 300 people in batches of 100, with short leases."""
    Stream.objects.update(batch_size=100, lease=timedelta(seconds=2))
    return campaign_to(300)


def campaign_to(people: int) -> Campaign:
    audience: ContactList = ContactListFactory.create()
    contacts = Contact.objects.bulk_create(
        Contact(email=f"{audience.pk}-{n}@example.com", name=f"Reader {n}") for n in range(people)
    )
    Membership.objects.bulk_create(Membership(list=audience, contact=contact) for contact in contacts)
    domain = SenderDomainFactory.create()
    return CampaignFactory.create(status="sending", lists=[audience], domain=domain)


def states() -> dict[str, int]:
    return dict(Counter(Recipient.objects.values_list("status", flat=True)))


def is_over(campaign: Campaign) -> bool:
    campaign.refresh_from_db()
    return campaign.status == "sent"


@contextmanager
def blocked_before_the_call() -> Iterator[None]:
    """Hold the table that a worker reads last before it commits that the call begins."""
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE suppressions IN ACCESS EXCLUSIVE MODE")
            held.set()
            release.wait(30)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    try:
        yield
    finally:
        release.set()
        thread.join()


def test_a_worker_sends_a_campaign_to_its_end(campaign: Campaign, simulator: Simulator) -> None:
    with worker(**TIMEOUTS):
        eventually(lambda: is_over(campaign))

    assert states() == {"sent": 300}
    assert len(set(simulator.accepted_addresses())) == len(simulator.accepted_addresses()) == 300


def test_killed_before_the_call_its_people_go_out_once(campaign: Campaign, simulator: Simulator) -> None:
    with worker(**TIMEOUTS):
        eventually(lambda: Recipient.objects.count() == 300)
        Campaign.objects.update(status="paused")
    Recipient.objects.update(status="pending", batch=None, locked_at=None, locked_by=None)
    simulator.reset()
    SendBatch.objects.all().delete()
    Campaign.objects.update(status="sending")

    with blocked_before_the_call(), worker("--worker", "same", **TIMEOUTS):
        eventually(lambda: SendBatch.objects.filter(state="leased").exists())
    assert simulator.calls == []

    with worker("--worker", "same", **TIMEOUTS):
        eventually(lambda: is_over(campaign))
    assert states() == {"sent": 300}
    assert simulator.duplicates() == []


@pytest.mark.parametrize("accepted", [False, True], ids=["before acceptance", "after acceptance"])
def test_killed_during_the_call_its_people_are_unknown_and_nobody_gets_it_twice(
    campaign: Campaign, simulator: Simulator, accepted: bool
) -> None:
    simulator.fault(Fault("hang", accept=accepted))
    with worker("--worker", "same", SENDER_CONCURRENCY="1", **TIMEOUTS):
        eventually(lambda: simulator.calls)

    with worker("--worker", "same", **TIMEOUTS):
        eventually(lambda: states() == {"sent": 200, "unknown": 100})

    addresses = simulator.accepted_addresses()
    assert len(addresses) == len(set(addresses)) == (300 if accepted else 200)
    assert not is_over(campaign)


def test_killed_after_settling_the_rest_goes_out_once(campaign: Campaign, simulator: Simulator) -> None:
    simulator.fault(Fault("latency", times=None, seconds=0.2))
    with worker(SENDER_CONCURRENCY="1", **TIMEOUTS):
        eventually(lambda: SendBatch.objects.filter(state="accepted").exists())

    with worker(**TIMEOUTS):
        eventually(lambda: not Recipient.objects.filter(status__in=["pending", "sending"]).exists())

    counted = states()
    assert counted.get("sent", 0) + counted.get("unknown", 0) == 300
    assert counted.get("unknown", 0) <= 100
    assert len(simulator.accepted_addresses()) == len(set(simulator.accepted_addresses()))


def test_sigterm_finishes_open_calls_and_gives_back_the_rest(
    campaign: Campaign, simulator: Simulator
) -> None:
    simulator.fault(Fault("latency", times=None, seconds=1))
    with worker(SENDER_CONCURRENCY="2", **TIMEOUTS) as process:
        eventually(lambda: len(simulator.calls) == 2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0

    assert states() == {"sent": 200, "pending": 100}
    assert not SendBatch.objects.filter(state__in=["leased", "in_flight"]).exists()


def test_sigterm_cuts_a_call_that_outlasts_the_grace(campaign: Campaign, simulator: Simulator) -> None:
    simulator.fault(Fault("hang"))
    with worker(SENDER_CONCURRENCY="1", SENDER_GRACE="0.5", **TIMEOUTS) as process:
        eventually(lambda: simulator.calls)
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0

    assert states() == {"unknown": 100, "pending": 200}


def test_a_second_signal_cuts_at_once(campaign: Campaign, simulator: Simulator) -> None:
    simulator.fault(Fault("hang"))
    with worker(SENDER_CONCURRENCY="1", **TIMEOUTS) as process:
        eventually(lambda: simulator.calls)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0

    assert states()["unknown"] == 100


def test_once_sends_what_is_due_and_ends(campaign: Campaign, simulator: Simulator) -> None:
    assert manage("run_sender", "--once").returncode == 0

    assert is_over(campaign)
    assert len(simulator.accepted_addresses()) == 300


def test_a_stream_that_does_not_exist_is_named(campaign: Campaign) -> None:
    done = manage("run_sender", "--stream", "recepts")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "There is no stream 'recepts': choose from campaigns, password-resets, receipts.\n"


def test_an_unreachable_database_is_one_clear_line() -> None:
    done = manage("run_sender", DATABASE_URL="postgres://nobody@127.0.0.1:1/nothing")

    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "DATABASE_URL" in done.stderr


def test_campaigns_take_turns(simulator: Simulator, settings: Settings) -> None:
    Stream.objects.update(batch_size=10)
    large, small = campaign_to(300), campaign_to(10)
    simulator.fault(Fault("latency", times=None, seconds=0.05))

    with worker(SENDER_CONCURRENCY="1", **TIMEOUTS):
        eventually(lambda: is_over(small))
        assert Recipient.objects.filter(campaign=large, status="pending").exists()
        eventually(lambda: is_over(large))


def test_four_workers_share_three_campaigns(simulator: Simulator) -> None:
    Stream.objects.update(batch_size=50)
    campaigns = [campaign_to(400) for _ in range(3)]
    simulator.fault(Fault("latency", times=None, seconds=[0, 0.3]))

    with worker("--worker", "a"), worker("--worker", "a"), worker("--worker", "b"), worker("--worker", "c"):
        eventually(lambda: all(is_over(campaign) for campaign in campaigns), within=60)

    addresses = simulator.accepted_addresses()
    assert len(addresses) == len(set(addresses)) == 1200
