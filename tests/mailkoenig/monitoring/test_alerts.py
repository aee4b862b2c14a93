"""What is wrong is said, told once when it begins and once when it is over, and never lost."""

import hmac
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from uuid import uuid4

import pytest
from django.core import mail
from django.core.management import call_command
from django.db import connection
from django.db.models.functions import Now
from pytest_django.fixtures import Settings

from campaigns import services
from campaigns.models import Message, SendBatch, SenderDomain, Stream
from campaigns.sql import workers
from mailkoenig.lib.command import UserError
from mailkoenig.monitoring import alerts
from mailkoenig.monitoring.models import Alert, Notice
from tests.factories import CampaignFactory, SendBatchFactory, SenderDomainFactory
from tests.hook import Hook

pytestmark = pytest.mark.django_db
SECRET = "s3cret"


@pytest.fixture(autouse=True)
def domain() -> SenderDomain:
    found: SenderDomain = SenderDomainFactory.create(name="mg.example.com", is_shared=True)
    return found


def receipt(*, age: float = 0, key: str = "order-1:receipt:v1") -> Message:
    """Enqueue a receipt that has been due for some seconds."""
    found = services.enqueue_message(
        stream="receipts", idempotency_key=key, to="ada@example.com", subject="Receipt", text="Thanks"
    ).message
    Message.objects.filter(pk=found.pk).update(due_at=Now() - timedelta(seconds=age))
    return found


def a_worker(*streams: str) -> None:
    workers.beat(id=uuid4(), name="worker-1", streams=streams, doing={})


def a_call(*, state: str, age: float, answer: str = "", stream: str = "receipts") -> None:
    """Note a call of a stream that ended some seconds ago."""
    moment = Now() - timedelta(seconds=age)
    SendBatchFactory.create(
        stream=Stream.objects.get(name=stream),
        campaign=None,
        domain=SenderDomain.objects.get(name="mg.example.com"),
        state=state,
        size=1,
        answer_class=answer,
        started_at=moment,
        settled_at=moment,
        claimed_at=moment,
    )


def wrong() -> dict[str, alerts.Finding]:
    """Return what is wrong, by kind."""
    return {found.kind: found for found in alerts.check(notify=False)}


def look() -> None:
    alerts.check(notify=True)


def subjects() -> list[str]:
    return [message.subject.removeprefix("[Mail Koenig] ") for message in mail.outbox]


def test_a_mail_over_its_budget_while_nothing_is_accepted_is_said_with_all_that_a_person_needs() -> None:
    receipt(age=181)
    a_worker()
    a_call(state="returned", age=30, answer="429")

    found = wrong()["stalled"]

    assert (found.subject, found.severity) == ("receipts", "page")
    assert found.details["stopped"] == "leased"
    assert found.details["last_answer"] == "429"
    assert found.details["workers"] == 1
    assert found.details["oldest_ready"] >= 181
    for words in (
        "waits for 3 minutes",
        "429",
        "accepts none",
        "Last answer: 429 (30 seconds ago).",
        "Workers alive: 1",
    ):
        assert words in found.summary


def test_a_stream_that_somebody_paused_did_not_stop_by_itself() -> None:
    receipt(age=181)
    a_worker()
    a_call(state="returned", age=30, answer="429")
    Stream.objects.filter(name="receipts").update(paused=True, paused_reason="Wrong prices", paused_by="ada")

    found = wrong()["stalled"]

    assert (found.details["stopped"], found.details["stopped_because"]) == ("ready", "somebody paused it")
    assert found.summary.endswith("Paused by ada: Wrong prices.")


@pytest.mark.parametrize("age", [0, 170])
def test_a_mail_within_its_budget_is_nothing_to_be_told_of(age: float) -> None:
    receipt(age=age)
    a_worker()

    assert wrong() == {}


def test_a_backlog_that_moves_is_nothing_to_be_told_of() -> None:
    receipt(age=1000)
    a_worker()
    a_call(state="accepted", age=170, answer="200")

    assert wrong() == {}


def test_what_waits_as_it_was_set_to_is_nothing_to_be_told_of() -> None:
    receipt(age=7200)
    a_worker()
    Stream.objects.filter(name="receipts").update(quiet_from="00:00", quiet_until="23:59:59.9")

    assert wrong() == {}


def test_quiet_hours_that_have_just_ended_are_no_delay() -> None:
    receipt(age=7200)
    a_worker()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE streams SET time_zone = 'UTC', quiet_from = (now() AT TIME ZONE 'UTC')::time - interval '2 minutes', "
            "quiet_until = (now() AT TIME ZONE 'UTC')::time - interval '1 minute'"
        )

    assert wrong() == {}


@pytest.mark.parametrize(
    ("state", "age", "where"), [("leased", 100, "leased"), ("in_flight", 100, "accepted"), ("", 0, "ready")]
)
def test_it_says_which_state_stopped(state: str, age: float, where: str) -> None:
    receipt(age=400)
    a_worker()
    Stream.objects.filter(name="receipts").update(age_budget=timedelta(seconds=90))
    if state:
        a_call(state=state, age=age)
        SendBatch.objects.filter(state="leased").update(started_at=None)

    assert wrong()["stalled"].details["stopped"] == where


def test_no_worker_while_mail_waits_names_the_streams() -> None:
    receipt()
    a_worker("campaigns")

    found = wrong()["no_worker"]

    assert "No worker is alive for receipts, and 1 mail wait" in found.summary
    assert found.details["streams"] == ["receipts"]


def test_a_worker_that_is_being_restarted_is_nothing_to_be_told_of() -> None:
    receipt()
    worker = uuid4()
    workers.beat(id=worker, name="worker-1", streams=[], doing={})
    workers.end(worker)

    assert wrong() == {}


def test_no_worker_and_no_mail_is_nothing_to_be_told_of() -> None:
    assert wrong() == {}


def test_an_outcome_that_a_person_has_left_lying_is_said(settings: Settings) -> None:
    a_call(state="unknown", age=5000)
    SendBatch.objects.update(held_at=Now() - timedelta(seconds=3500))
    assert wrong() == {}

    settings.ALERT_UNKNOWN_AFTER = 3400.0

    assert "1 mail with an unknown outcome wait for a decision" in wrong()["unknown"].summary


def test_a_paused_domain_is_said_with_the_providers_words(domain: SenderDomain) -> None:
    services.pause_domain(domain, reason="401: Invalid private key")

    assert wrong()["domain_paused"].summary == "Nothing is sent from mg.example.com: 401: Invalid private key"


def test_silence_is_said(domain: SenderDomain) -> None:
    campaign = CampaignFactory.create(status="sent", domain=domain)
    batch = SendBatchFactory.create(campaign=campaign, state="accepted", size=1)
    SendBatch.objects.filter(pk=batch.pk).update(settled_at=Now() - timedelta(hours=1))

    assert wrong()["silence"].subject == f"campaign {campaign.pk}"


def test_one_notice_when_it_begins_and_one_when_it_is_over() -> None:
    message = receipt(age=200)
    a_worker()
    for _ in range(3):
        look()
    assert subjects() == ["receipts: mail is stuck"]
    row = Alert.objects.get()
    assert row.notified_at and row.cleared_at is None

    Message.objects.filter(pk=message.pk).update(status="sent")
    for _ in range(3):
        look()

    assert subjects() == ["receipts: mail is stuck", "Over: receipts: mail is stuck"]
    assert mail.outbox[0].to == ["operator@example.com"]
    assert "It is over after" in mail.outbox[1].body
    row.refresh_from_db()
    assert row.cleared_at


def test_what_comes_and_goes_is_told_once_and_again_when_it_stays() -> None:
    message = receipt(age=200)
    a_worker()
    for state in ("pending", "sent") * 4:
        Message.objects.filter(pk=message.pk).update(status=state)
        look()
    assert subjects() == ["receipts: mail is stuck", "Over: receipts: mail is stuck"]

    Message.objects.filter(pk=message.pk).update(status="pending")
    look()
    assert len(mail.outbox) == 2
    Notice.objects.filter(told_at=None).update(due_at=Now())
    look()

    assert subjects()[2:] == ["receipts: mail is stuck"]


def test_nobodys_address_is_told() -> None:
    services.pause_domain(SenderDomain.objects.get(), reason="400: ada@example.org is refused")
    look()

    assert "ada@example.org" not in mail.outbox[0].body
    assert "[address] is refused" in mail.outbox[0].body


@pytest.fixture
def hook(settings: Settings) -> Iterator[Hook]:
    found = Hook()
    settings.ALERT_WEBHOOK_URL = found.url
    settings.ALERT_WEBHOOK_SECRET = SECRET
    settings.ALERT_BY_EMAIL = False
    yield found
    found.close()


def test_the_webhook_is_signed_and_reads_well_in_a_chat(hook: Hook) -> None:
    receipt(age=200)
    a_worker()
    look()

    ((headers, body),) = hook.heard
    signed = f"{headers['X-Mailkoenig-Timestamp']}.{body.decode()}"
    expected = hmac.new(SECRET.encode(), signed.encode(), "sha256").hexdigest()
    assert headers["X-Mailkoenig-Signature"] == expected
    (said,) = hook.bodies
    assert said["text"].startswith("receipts: mail is stuck\nreceipts: the oldest mail waits")
    assert (said["event"], said["kind"], said["subject"]) == ("began", "stalled", "receipts")
    assert said["details"]["stopped"] == "ready"


@pytest.mark.parametrize("status", [500, 302, 404])
def test_a_notice_that_could_not_be_told_is_told_at_a_later_look_and_in_order(
    hook: Hook, status: int
) -> None:
    message = receipt(age=200)
    a_worker()
    hook.status = status
    look()
    assert "answered" in Notice.objects.get().error
    Message.objects.filter(pk=message.pk).update(status="sent")
    look()
    assert len(hook.heard) == 2, "one try a look, and what began is told before it is over"

    hook.status = 200
    look()

    assert [said["event"] for said in hook.bodies[2:]] == ["began", "cleared"]
    assert Alert.objects.get().notified_at


def test_a_webhook_that_nobody_answers_keeps_the_notice(settings: Settings) -> None:
    settings.ALERT_WEBHOOK_URL = "http://127.0.0.1:9/"
    receipt(age=200)
    a_worker()
    look()

    assert subjects() == ["receipts: mail is stuck"]
    assert Notice.objects.get(way="webhook").told_at is None
    assert "can't be reached" in Notice.objects.get(way="webhook").error


@pytest.mark.django_db(transaction=True)
def test_four_looks_at_once_tell_it_once(hook: Hook) -> None:
    receipt(age=200)
    services.pause_domain(SenderDomain.objects.get(), reason="401")
    barrier = threading.Barrier(4)

    def run() -> None:
        try:
            barrier.wait(10)
            for _ in range(3):
                look()
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    look()
    assert sorted(said["kind"] for said in hook.bodies) == ["domain_paused", "no_worker", "stalled"]


def test_the_command_says_what_is_wrong_and_fails() -> None:
    receipt(age=200)
    out = StringIO()

    with pytest.raises(UserError, match=r"stalled \(receipts\), no_worker \(receipts\)"):
        call_command("check_alerts", stdout=out)

    assert "page: receipts: the oldest mail waits for" in out.getvalue()
    assert not Alert.objects.exists() and mail.outbox == [], "only asked to look"


def test_the_command_prints_json_and_tells_on_request() -> None:
    receipt(age=200)
    out = StringIO()

    with pytest.raises(UserError):
        call_command("check_alerts", "--json", "--notify", stdout=out)

    found = json.loads(out.getvalue())
    assert found["ok"] is False
    assert [(one["kind"], one["subject"]) for one in found["alerts"]] == [
        ("stalled", "receipts"),
        ("no_worker", ""),
    ]
    assert subjects() == ["receipts: mail is stuck", "no worker is alive"]


def test_the_command_has_one_line_when_all_is_well() -> None:
    out = StringIO()

    call_command("check_alerts", stdout=out)

    assert out.getvalue() == "All is well: nothing is stuck, silent, paused or unknown for too long.\n"
