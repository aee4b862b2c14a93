"""Why a stream waits: the same as what the queue goes by, with the moment when it ends."""

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db.models.functions import Now
from pytest_django import DjangoAssertNumQueries

from campaigns import services, waits
from campaigns.models import Installation, SendBatch, SenderDomain, Stream
from mailkoenig.lib import db
from tests.factories import CampaignFactory, SendBatchFactory, SenderDomainFactory

pytestmark = pytest.mark.django_db


def stream(**limits: object) -> Stream:
    Stream.objects.filter(name="campaigns").update(**limits)
    return Stream.objects.get(name="campaigns")


def sent(size: int = 1, *, seconds: float = 1, state: str = "accepted") -> SendBatch:
    """A call of so many mails that began so long ago."""
    batch: SendBatch = SendBatchFactory.create(
        size=size, state=state, started_at=db.now() - timedelta(seconds=seconds)
    )
    return batch


def room() -> int:
    return int(db.value("SELECT stream_room(id) FROM streams WHERE name = 'campaigns'"))


def kinds() -> set[str]:
    """Return what it waits for, once the queue was found to agree."""
    found = {wait.kind for wait in waits.of("campaigns")}
    assert (room() == 0) == bool(found & waits.NO_ROOM), (room(), found)
    return found


def until(kind: str) -> datetime:
    (moment,) = (wait.until for wait in waits.of("campaigns") if wait.kind == kind)
    assert moment
    return moment


def around(hours: float, *, zone: str = "UTC") -> time:
    """Return the time of day in so many hours from now, or before."""
    return (db.now().astimezone(ZoneInfo(zone)) + timedelta(hours=hours)).time()


def test_a_stream_without_limits_waits_for_nothing() -> None:
    assert kinds() == set()
    assert waits.of("campaigns") == []
    assert set(waits.every()) == {"campaigns", "receipts", "password-resets"}


def test_a_pause_says_who_and_why() -> None:
    stream(paused=True, paused_by="ada", paused_reason="Wrong prices")

    assert kinds() == {"paused"}
    assert waits.of("campaigns")[0].text == "Paused by ada: Wrong prices."


def test_an_emergency_stop_says_who_and_why_for_every_stream() -> None:
    Installation.objects.create(server="here", stopped_at=Now(), stopped_by="ada", stopped_reason="Leak")

    assert kinds() == {"stopped"}
    assert all("by ada" in found[0].text and "Leak" in found[0].text for found in waits.every().values())


def test_a_restored_database_is_no_matter_of_room() -> None:
    Installation.objects.create(server="here", held_reason="It was restored.")

    assert kinds() == {"restore"}


def test_draining_holds_up_no_mail() -> None:
    stream(draining=True)

    assert kinds() == {"draining"}


@pytest.mark.parametrize(
    "zone", ["UTC", "Europe/Berlin", "Asia/Kolkata", "Pacific/Auckland", "America/Los_Angeles"]
)
@pytest.mark.parametrize(
    ("begins", "ends", "is_quiet"),
    [
        (-1, 1, True),
        (1, 2, False),
        (-2, -1, False),
        (-1, 22, True),
        (-12, 11.5, True),
        (0.5, -0.5, False),
        (1, 23, False),
    ],
)
def test_quiet_hours_are_those_of_its_own_zone_also_over_midnight(
    zone: str, begins: float, ends: float, is_quiet: bool
) -> None:
    stream(time_zone=zone, quiet_from=around(begins, zone=zone), quiet_until=around(ends, zone=zone))

    assert kinds() == ({"quiet"} if is_quiet else set())
    if is_quiet:
        end = until("quiet")
        assert abs(end - db.now() - timedelta(hours=ends)) < timedelta(minutes=1)
        assert timedelta(0) < end - db.now() <= timedelta(days=1)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Pacific/Auckland", "America/Los_Angeles"])
def test_the_daily_cap_counts_from_midnight_of_its_own_zone(zone: str) -> None:
    here = db.now().astimezone(ZoneInfo(zone))
    midnight = here.replace(hour=0, minute=0, second=0, microsecond=0)
    stream(time_zone=zone, daily_cap=10)
    SendBatchFactory.create(size=10, state="accepted", started_at=midnight - timedelta(seconds=1))
    assert kinds() == set()

    SendBatchFactory.create(size=10, state="accepted", started_at=midnight)

    assert kinds() == {"cap"}
    end = until("cap").astimezone(ZoneInfo(zone))
    assert (end.time(), end.date()) == (time(0), here.date() + timedelta(days=1))


def test_what_was_not_taken_is_given_back_to_the_day() -> None:
    stream(daily_cap=10)
    sent(10, state="returned", seconds=1)

    assert kinds() == set()


@pytest.mark.parametrize(
    ("calls", "next_slot"),
    [
        ([(50, 59)], None),
        ([(100, 20)], 41),
        ([(60, 50), (40, 10)], 11),
        ([(60, 50), (60, 10)], 11),
        ([(40, 50), (100, 10)], 51),
        ([(30, 50), (30, 40), (30, 30), (30, 20)], 11),
        ([(100, 62)], None),
    ],
)
def test_the_next_slot_of_a_rate_is_when_enough_has_left_the_minute(
    calls: list[tuple[int, int]], next_slot: int | None
) -> None:
    stream(rate_per_minute=100)
    for size, seconds in calls:
        sent(size, seconds=seconds)

    assert kinds() == ({"rate"} if next_slot else set())
    if next_slot:
        assert abs((until("rate") - db.now()).total_seconds() - next_slot) < 2


def test_a_burst_has_a_window_of_its_own() -> None:
    stream(rate_per_minute=60, burst=10)
    sent(10, seconds=4)

    assert kinds() == {"burst"}
    assert abs((until("burst") - db.now()).total_seconds() - 6) < 2
    assert "next slot in" in waits.of("campaigns")[0].text
    SendBatch.objects.update(started_at=db.now() - timedelta(seconds=10.1))
    assert kinds() == set()


def test_calls_that_are_open_are_counted() -> None:
    stream(concurrency=2)
    sent(state="in_flight")
    assert kinds() == set()

    sent(state="in_flight")

    assert kinds() == {"calls"}


def test_a_call_of_a_dead_worker_does_not_count_for_long() -> None:
    stream(concurrency=1)
    sent(state="in_flight", seconds=130)

    assert kinds() == set()


def test_a_domain_that_is_paused_or_held_is_named_where_mail_waits_for_it() -> None:
    paused = SenderDomainFactory.create(status="paused", paused_reason="401 Forbidden")
    held = SenderDomainFactory.create(held_until=Now() + timedelta(minutes=5), held_reason="429 Too many")
    for domain in (paused, held):
        CampaignFactory.create(status="sending", domain=domain)
    SenderDomainFactory.create(status="paused", paused_reason="of no use")

    found = waits.of("campaigns")

    assert [wait.kind for wait in found] == ["domain", "held"]
    assert "401 Forbidden" in found[0].text
    assert "429 Too many" in found[1].text
    assert waits.of("receipts") == []


def test_a_message_waits_for_its_own_domain() -> None:
    good, bad = SenderDomainFactory.create(is_shared=True), SenderDomainFactory.create()
    SenderDomain.objects.filter(pk=bad.pk).update(status="paused", paused_reason="401")
    for domain in (good, bad):
        services.enqueue_message(
            stream="receipts",
            idempotency_key=domain.name,
            to="ada@example.com",
            subject="Hi",
            text="Hi",
            sender=f"shop@{domain.name}",
        )

    assert [wait.kind for wait in waits.of("receipts")] == ["domain"]


def test_any_mixture_agrees_with_the_queue() -> None:
    """Every state of one limit beside every state of the others."""
    sent(5, seconds=30)
    sent(5, seconds=3, state="in_flight")
    for paused in (False, True):
        for rate, burst in ((None, None), (10, None), (11, None), (12, 5), (60, 6), (600, 2)):
            for cap in (None, 10, 11):
                for concurrency in (1, 2):
                    for quiet in (None, around(-1), around(1)):
                        stream(
                            paused=paused,
                            rate_per_minute=rate,
                            burst=burst,
                            daily_cap=cap,
                            concurrency=concurrency,
                            quiet_from=quiet,
                            quiet_until=quiet and around(2),
                        )
                        kinds()


@pytest.mark.parametrize("seconds", [9.7, 10.3, 59.5, 60.5, 61.5])
def test_the_edges_of_the_windows_are_those_of_the_queue(seconds: float) -> None:
    sent(10, seconds=seconds)
    for rate, burst in ((10, None), (60, 10), (10, 10)):
        stream(rate_per_minute=rate, burst=burst)
        kinds()


def test_it_is_one_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        waits.every()
