"""Receipts beside campaigns, with real workers: each is sent once, and no campaign stands in its way."""

import os
import signal
import time
from collections import Counter
from datetime import timedelta
from functools import partial

import pytest

from campaigns import services
from campaigns.models import Message, SendBatch, SentMessage, Stream
from mailkoenig.simulator import Fault, Simulator
from tests.endtoend.test_worker import TIMEOUTS, campaign_to
from tests.factories import SenderDomainFactory
from tests.processes import eventually, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
DOMAIN = "receipts.example.com"


@pytest.fixture(autouse=True)
def domain() -> None:
    Stream.objects.filter(name="receipts").update(domain=SenderDomainFactory.create(name=DOMAIN))


def receipt(number: int, **changes: object) -> Message:
    given = {
        "stream": "receipts",
        "idempotency_key": f"order-{number}:receipt:v1",
        "to": f"buyer{number}@example.com",
        "subject": f"Receipt {number}",
        "text": "Thank you",
    }
    return services.enqueue_message(**{**given, **changes}).message  # type: ignore[arg-type]


def statuses() -> Counter[str]:
    return Counter(Message.objects.values_list("status", flat=True))


def is_sent(message: Message) -> bool:
    return Message.objects.filter(pk=message.pk, status="sent").exists()


def copies(simulator: Simulator) -> Counter[str]:
    return Counter(address for address in simulator.accepted_addresses() if address.startswith("buyer"))


def test_two_workers_that_race_send_each_key_once(simulator: Simulator) -> None:
    for number in range(30):
        receipt(number)

    with worker("--worker", "same", **TIMEOUTS), worker("--worker", "same", **TIMEOUTS):
        eventually(lambda: statuses() == {"sent": 30})

    assert copies(simulator) == Counter(f"buyer{number}@example.com" for number in range(30))
    assert len(simulator.calls) == 30
    assert SentMessage.objects.count() == 30


def test_a_429_is_waited_for_with_few_calls_and_holds_no_other_domain(simulator: Simulator) -> None:
    simulator.fault(Fault("rate_limit", seconds=2, hint="header", times=1, only={"domain": DOMAIN}))
    other = SenderDomainFactory.create(name="other.example.org")
    receipt(1)
    receipt(2)
    receipt(3, sender=f"shop@{other.name}", stream="password-resets")

    with worker(**TIMEOUTS):
        eventually(lambda: Message.objects.get(email="buyer3@example.com").status == "sent", within=5)
        eventually(lambda: statuses() == {"sent": 3})

    assert len(simulator.calls) <= 6
    assert set(copies(simulator).values()) == {1}
    # What each was answered, try by try, is on record.
    calls = SendBatch.objects.values_list("message_id", "state")
    assert {message for message, state in calls if state == "accepted"} == set(
        Message.objects.values_list("pk", flat=True)
    )
    assert "returned" in {state for _, state in calls}


def test_killed_after_acceptance_it_is_settled_from_the_providers_log(simulator: Simulator) -> None:
    Stream.objects.update(lease=timedelta(seconds=2))
    simulator.fault(Fault("hang", accept=True))
    receipt(1)
    with worker(**TIMEOUTS) as process:
        eventually(lambda: copies(simulator))
        os.kill(process.pid, signal.SIGKILL)

    with worker(RESOLVER_WAITS="0.5,1,2,4", **TIMEOUTS):
        eventually(lambda: statuses() == {"sent": 1}, within=40)

    assert copies(simulator) == {"buyer1@example.com": 1}
    assert len(simulator.calls) == 1


def test_what_the_ledger_holds_is_not_sent_again(simulator: Simulator) -> None:
    receipt(1)
    with worker(**TIMEOUTS):
        eventually(lambda: statuses() == {"sent": 1})
        # As if the commit of the row's state had been lost and the ledger's not.
        Message.objects.update(status="pending", batch=None, sent_at=None)
        receipt(2)
        eventually(lambda: statuses() == {"sent": 2})

    assert copies(simulator) == {"buyer1@example.com": 1, "buyer2@example.com": 1}
    assert len(simulator.calls) == 2


def test_receipts_go_out_while_a_campaign_is_throttled(simulator: Simulator) -> None:
    campaign = campaign_to(5_000)
    assert campaign.domain is not None
    Stream.objects.filter(name="campaigns").update(batch_size=100)
    simulator.fault(
        Fault(
            "rate_limit", seconds=1, hint="header", times=None, only={"domain": campaign.domain.name}, after=3
        )
    )

    with worker(**TIMEOUTS):
        eventually(lambda: len(simulator.calls) > 3)
        for number in range(20):
            began = time.monotonic()
            message = receipt(number)
            eventually(partial(is_sent, message), within=5)
            assert time.monotonic() - began < 5

    assert set(copies(simulator).values()) == {1}
    assert len(copies(simulator)) == 20


def test_a_worker_of_one_stream_leaves_the_others_alone(simulator: Simulator) -> None:
    receipt(1)
    receipt(2, stream="password-resets", sender=f"x@{DOMAIN}")

    with worker("--stream", "receipts", **TIMEOUTS):
        eventually(lambda: Message.objects.get(email="buyer1@example.com").status == "sent")

    assert Message.objects.get(email="buyer2@example.com").status == "pending"


def test_a_pause_and_a_lower_concurrency_hold_from_the_next_call_on(simulator: Simulator) -> None:
    simulator.fault(Fault("latency", times=None, seconds=0.2))
    for number in range(12):
        receipt(number)
    stream = Stream.objects.get(name="receipts")
    with worker(**TIMEOUTS):
        eventually(lambda: len(simulator.calls) >= 4)
        services.pause_stream(stream, reason="too many complaints", by="ops")
        eventually(lambda: not SendBatch.objects.filter(state="in_flight").exists())
        calls = len(simulator.calls)
        time.sleep(0.6)  # noqa: TID251 - nothing must happen
        assert len(simulator.calls) == calls
        Stream.objects.filter(pk=stream.pk).update(concurrency=1)
        services.resume_stream(stream)
        most = 0
        while statuses() != {"sent": 12}:
            most = max(most, SendBatch.objects.filter(state="in_flight").count())
            time.sleep(0.02)  # noqa: TID251 - looks again and again

    assert most == 1
    assert set(copies(simulator).values()) == {1}
