"""The emergency stop, and the levers and limits of a stream, as staff see them."""

from datetime import time, timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from campaigns import services
from campaigns.models import Message, Stream
from campaigns.sql.waits import waiting
from tests.campaigns.admin.conftest import SignIn
from tests.campaigns.admin.test_levers import limits
from tests.factories import (
    CampaignFactory,
    MessageFactory,
    RecipientFactory,
    SendBatchFactory,
    SenderDomainFactory,
)

pytestmark = pytest.mark.django_db
STOP, GO_ON = (reverse(f"admin:campaigns_stream_{name}") for name in ("stop-everything", "go-on"))
HOME = reverse("admin:index")


def page(name: str = "change", *, stream: str = "receipts") -> str:
    return reverse(f"admin:campaigns_stream_{name}", args=[Stream.objects.get(name=stream).pk])


def receipts() -> Stream:
    return Stream.objects.get(name="receipts")


def text(client: Client, address: str) -> str:
    return client.get(address).content.decode()


@pytest.mark.parametrize("address", [HOME, reverse("admin:campaigns_stream_changelist")])
def test_who_may_is_offered_the_emergency_stop_and_nobody_else(sign_in: SignIn, address: str) -> None:
    assert STOP in text(sign_in("Operator"), address)
    assert STOP in text(sign_in("Sender"), address)
    assert STOP not in text(sign_in("Writer"), address)


@pytest.mark.parametrize("address", [STOP, GO_ON])
def test_who_may_not_is_refused(writer: Client, address: str) -> None:
    assert writer.get(address).status_code == 403
    assert writer.post(address, {"reason": "x"}).status_code == 403
    assert services.stopped() is None


def test_it_says_what_happens_wants_a_reason_and_stops(operator: Client) -> None:
    assert "Nothing leaves any more" in text(operator, STOP)
    assert services.stopped() is None
    assert operator.post(STOP, {"reason": ""}).status_code == 200
    assert services.stopped() is None

    operator.post(STOP, {"reason": "Wrong list"})

    found = services.stopped()
    assert found
    assert (found.stopped_by[:5], found.stopped_reason) == ("staff", "Wrong list")
    assert LogEntry.objects.get().get_change_message() == "Stopped: Wrong list"


def test_every_page_says_so_until_it_ends(sign_in: SignIn, operator: Client) -> None:
    pages = [
        HOME,
        page(),
        reverse("admin:campaigns_campaign_changelist"),
        reverse("admin:campaigns_campaign_add"),
    ]
    writer = sign_in("Writer")
    services.stop_everything(reason="Wrong list", by="ada")
    for address in pages[:3]:
        assert "All sending is stopped" in text(writer, address)
        assert "Wrong list" in text(writer, address)
        assert GO_ON not in text(writer, address)
    assert "All sending is stopped" in text(writer, pages[3])
    assert GO_ON in text(operator, HOME)

    operator.post(GO_ON)

    assert services.stopped() is None
    assert "All sending is stopped" not in text(operator, HOME)


def test_a_stranger_on_the_sign_in_page_learns_nothing(client: Client) -> None:
    services.stop_everything(reason="Wrong list", by="ada")

    assert "stopped" not in text(client, reverse("admin:login"))


@pytest.mark.parametrize(
    ("lever", "field", "value"),
    [("drain", "draining", True), ("one-at-a-time", "concurrency", 1), ("pause", "paused", True)],
)
def test_each_lever_asks_acts_once_and_leaves_one_trace(
    operator: Client, lever: str, field: str, value: object
) -> None:
    assert operator.get(page(lever)).status_code == 200
    for _ in range(2):
        operator.post(page(lever), {"reason": "provider is slow"})

    assert getattr(receipts(), field) == value
    assert LogEntry.objects.count() == 1


def test_a_drain_is_shown_and_taken_back(operator: Client) -> None:
    operator.post(page("drain"), {"reason": "moving"})
    shown = text(operator, page())
    assert "Draining" in shown
    assert "../undrain/" in shown

    operator.post(page("undrain"))

    assert not receipts().draining


def test_dead_letters_are_requeued_with_what_they_died_of_shown_first(operator: Client) -> None:
    MessageFactory.create_batch(2, status="failed", reason="550 Mailbox on fire")
    assert "2 died of: 550 Mailbox on fire" in text(operator, page("requeue"))

    operator.post(page("requeue"), {"reason": "fire is out"})

    assert set(Message.objects.values_list("status", flat=True)) == {"pending"}
    words = LogEntry.objects.get().get_change_message()
    assert "fire is out" in words
    assert "550 Mailbox on fire" in words


@pytest.mark.parametrize(
    ("lever", "shown"),
    [
        ("pause", "shown wherever mail waits"),
        ("drain", "kept in the audit trail"),
        ("requeue", "kept in the audit trail"),
        ("cancel-ready", "shown with each mail"),
    ],
)
def test_where_the_reason_is_shown_is_said_as_it_is(operator: Client, lever: str, shown: str) -> None:
    asked = text(operator, page(lever))

    assert shown in asked
    assert ("shown wherever mail waits" in asked) == (lever == "pause")


def test_before_a_pause_it_is_said_how_many_wait(operator: Client) -> None:
    assert "No mail of it waits now." in text(operator, page("pause"))
    MessageFactory.create_batch(2)
    MessageFactory.create(status="sent")
    assert "2 mails of it wait now." in text(operator, page("pause"))
    RecipientFactory.create()
    RecipientFactory.create(campaign=CampaignFactory.create(status="paused"))
    assert "1 mail of it waits now." in text(operator, page("pause", stream="campaigns"))


def test_mails_that_wait_are_not_counted_for_ever() -> None:
    MessageFactory.create_batch(3)

    assert waiting(receipts().pk, most=2) == 2


def test_where_nothing_is_stopped_there_is_nothing_to_let_go_on(operator: Client) -> None:
    answer = operator.get(GO_ON, follow=True)

    assert answer.redirect_chain == [(HOME, 302)]
    assert "Nothing is stopped." in answer.content.decode()


def test_what_waits_is_cancelled_after_its_number_was_shown(operator: Client) -> None:
    MessageFactory.create_batch(2)
    assert "Take back 2 messages of receipts" in text(operator, page("cancel-ready"))

    operator.post(page("cancel-ready"), {"reason": "Wrong prices"})

    assert set(Message.objects.values_list("status", flat=True)) == {"cancelled"}


def test_a_writer_pulls_no_lever_of_a_stream(writer: Client) -> None:
    MessageFactory.create()
    for lever in ("pause", "drain", "one-at-a-time", "requeue", "cancel-ready"):
        assert writer.post(page(lever), {"reason": "because"}).status_code == 403
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"burst": "5"}, "burst", "part of the mails a minute"),
        ({"burst": "70", "rate_per_minute": "60"}, "burst", "at most as many"),
        ({"quiet_from": "22:00"}, "quiet_until", "until when it is quiet"),
        ({"quiet_until": "08:00"}, "quiet_from", "from when on it is quiet"),
        ({"quiet_from": "08:00", "quiet_until": "08:00"}, "quiet_until", "quiet all day"),
        ({"time_zone": "Mars/Olympus"}, "time_zone", "Mars/Olympus"),
        ({"sender": "not an address"}, "sender", "not an address"),
        ({"sender": "shop@elsewhere.example"}, "sender", "give an address of that domain"),
        ({"daily_cap": "0"}, "daily_cap", "greater than or equal to 1"),
    ],
)
def test_what_does_not_go_together_is_refused_in_plain_words(
    operator: Client, changes: dict[str, str], field: str, words: str
) -> None:
    domain = SenderDomainFactory.create()

    answer = operator.post(page(), limits(domain=str(domain.pk), **changes))

    assert words in str(answer.context["adminform"].form.errors[field])
    assert receipts().burst is None


def test_limits_are_kept_and_the_trail_says_what_they_were(operator: Client) -> None:
    operator.post(
        page(stream="campaigns"),
        limits(
            rate_per_minute="600",
            burst="10",
            daily_cap="5000",
            quiet_from="22:00",
            quiet_until="08:00",
            time_zone="Europe/Berlin",
        ),
    )

    stream = Stream.objects.get(name="campaigns")
    assert (stream.rate_per_minute, stream.burst, stream.daily_cap) == (600, 10, 5000)
    assert (stream.quiet_from, stream.quiet_until, stream.time_zone) == (time(22), time(8), "Europe/Berlin")
    assert "Mails a minute: 600 instead of nothing." in LogEntry.objects.get().get_change_message()


def test_one_is_not_written_as_many(operator: Client) -> None:
    Stream.objects.filter(name="campaigns").update(concurrency=1, daily_cap=1)
    SendBatchFactory.create(size=1, state="in_flight", started_at=Now() - timedelta(seconds=20))

    shown = text(operator, page(stream="campaigns"))

    assert "1 of 1 call is open." in shown
    assert "1 mail left within the last minute" in shown
    assert "1 of 1 mail of today is used" in shown


def test_a_new_stream_is_for_messages(operator: Client) -> None:
    answer = operator.post(
        reverse("admin:campaigns_stream_add"),
        limits(name="invoices", kind="campaign", batch_size="1", on_unknown="hold"),
    )

    assert answer.status_code == 302
    assert Stream.objects.get(name="invoices").kind == "transactional"


def test_the_page_says_what_the_limits_do_now_and_why_it_waits(operator: Client) -> None:
    Stream.objects.filter(name="campaigns").update(rate_per_minute=60, daily_cap=100, concurrency=4)
    SendBatchFactory.create(size=60, state="in_flight", started_at=Now() - timedelta(seconds=20))

    assert "nothing holds it" in text(operator, page(stream="campaigns"))
    campaign = CampaignFactory.create(status="sending", domain=SenderDomainFactory.create())
    RecipientFactory.create(campaign=campaign)
    shown = text(operator, page(stream="campaigns"))

    assert "1 of 4 calls is open." in shown
    assert "60 mails left within the last minute, of 60." in shown
    assert "60 of 100 mails of today are used" in shown
    assert "Rate limit of 60 a minute, next slot in" in shown
