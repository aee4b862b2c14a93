"""Streams from the command line."""

import json
from io import StringIO

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command

from campaigns import services
from campaigns.models import Message, Stream
from mailkoenig.lib.command import UserError
from tests.factories import MessageFactory

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("stream", *arguments, stdout=out)
    return out.getvalue()


def receipts() -> Stream:
    return Stream.objects.get(name="receipts")


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (("pause", "receipts", "--reason", "slow"), "paused", True),
        (("drain", "receipts"), "draining", True),
        (("concurrency", "receipts", "1"), "concurrency", 1),
        (("rate", "receipts", "60", "--reason", "slow"), "rate_per_minute", 60),
    ],
)
def test_each_act_is_done_once_noted_once_and_said_in_one_line(
    arguments: tuple[str, ...], field: str, value: object
) -> None:
    first, again = run(*arguments), run(*arguments)

    assert getattr(receipts(), field) == value
    assert first.startswith("receipts: ")
    assert first.count("\n") == 1
    assert "like that already" in again
    assert LogEntry.objects.get().user.get_username().endswith(" on the command line")


def test_resume_ends_a_pause_and_a_drain() -> None:
    run("pause", "receipts", "--reason", "slow")
    run("drain", "receipts")

    assert "goes on" in run("resume", "receipts")

    assert (receipts().paused, receipts().draining) == (False, False)
    assert "like that already" in run("resume", "receipts")


def test_no_rate_is_none() -> None:
    run("rate", "receipts", "60")
    run("rate", "receipts", "none")

    assert receipts().rate_per_minute is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("pause", "receipts"),
        ("stop-all",),
        ("concurrency", "receipts", "0"),
        ("rate", "receipts", "fast"),
        ("rate", "receipts"),
        ("explode", "receipts"),
        (),
        ("status",),
    ],
)
def test_wrong_usage_changes_nothing(arguments: tuple[str, ...]) -> None:
    # As call_command says it; on the command line argparse ends with 2.
    with pytest.raises(CommandError):
        run(*arguments)
    assert not LogEntry.objects.exists()


def test_a_stream_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(UserError, match="campaigns, password-resets, receipts"):
        run("pause", "reciepts", "--reason", "slow")


def test_all_sending_is_stopped_and_goes_on() -> None:
    assert "All sending is stopped" in run("stop-all", "--reason", "Leak")
    found = services.stopped()
    assert found
    assert found.stopped_reason == "Leak"
    assert "like that already" in run("stop-all", "--reason", "Leak")

    assert "All sending goes on." in run("go-all")

    assert services.stopped() is None


def test_dead_letters_are_requeued_all_or_chosen() -> None:
    first, second, third = MessageFactory.create_batch(3, status="failed", reason="550 on fire")
    with pytest.raises(UserError, match="--all"):
        run("requeue", "receipts")
    with pytest.raises(UserError, match="no message 'nothing'"):
        run("requeue", "receipts", "--key", "nothing", "--key", first.idempotency_key)

    assert (
        run("requeue", "receipts", "--key", first.idempotency_key)
        == "receipts: 1 message made ready again.\n"
    )
    assert run("requeue", "receipts", "--all") == "receipts: 2 messages made ready again.\n"

    assert set(Message.objects.values_list("status", flat=True)) == {"pending"}
    assert all("550 on fire" in entry.get_change_message() for entry in LogEntry.objects.all())
    assert {second.pk, third.pk} <= set(Message.objects.values_list("pk", flat=True))


def test_what_is_ready_is_cancelled_all_or_chosen() -> None:
    first, _ = MessageFactory.create_batch(2)

    assert "1 message cancelled." in run(
        "cancel", "receipts", "--key", first.idempotency_key, "--reason", "Twice"
    )
    assert "1 message cancelled." in run("cancel", "receipts", "--all")

    first.refresh_from_db()
    assert first.reason.endswith("on the command line: Twice")


def test_status_shows_the_four_states_the_limits_and_why_it_waits() -> None:
    MessageFactory.create_batch(3)
    Stream.objects.filter(name="receipts").update(rate_per_minute=60, burst=5)
    services.pause_stream(receipts(), reason="Wrong prices", by="ada")

    shown = run("status", "receipts")

    for words in (
        "ready",
        "leased",
        "accepted",
        "3 (",
        "Paused by ada: Wrong prices",
        "60 mails a minute in bursts of 5",
    ):
        assert words in shown
    assert "manage.py stream resume receipts" in shown.splitlines()[-1]
    assert max(len(line) for line in shown.splitlines()) <= 100


def test_status_is_one_json_object() -> None:
    MessageFactory.create_batch(3)
    services.pause_stream(receipts(), reason="Wrong prices", by="ada")

    found = json.loads(run("status", "receipts", "--json"))

    assert set(found["states"]) == {"ready", "leased", "accepted", "settled"}
    assert found["states"]["ready"]["count"] == 3
    assert found["waits"][0]["kind"] == "paused"
