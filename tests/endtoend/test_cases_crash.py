"""Workers that die at the worst moments, and mail that kills them."""

import subprocess
import threading
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from functools import partial

import pytest

from campaigns.models import Campaign, Recipient, SendBatch, Stream
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.records import Message
from mailkoenig.simulator.server import Simulator
from tests.endtoend.test_worker import campaign_to, is_over, states
from tests.processes import eventually, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
QUICK = {
    "MAILGUN_CONNECT_TIMEOUT": "0.5",
    "MAILGUN_READ_TIMEOUT": "1",
    "RESOLVER_WAITS": "0.3,0.6",
    "SENDER_CONCURRENCY": "1",
}


def test_killed_between_acceptance_and_commit_nobody_gets_it_twice(simulator: Simulator) -> None:
    Stream.objects.update(batch_size=50, lease=timedelta(seconds=2))
    campaign = campaign_to(250)
    running: list[subprocess.Popen[bytes]] = []
    killed = threading.Semaphore(0)

    def kill(message: Message) -> None:
        if message.number <= 3:
            running[-1].kill()
            killed.release()

    simulator.on_accept = kill
    for _ in range(3):
        with worker("--worker", "same", **QUICK) as process:
            running.append(process)
            assert killed.acquire(timeout=20)
            process.wait()
    with worker("--worker", "same", **QUICK):
        eventually(lambda: is_over(campaign), within=30)

    assert states() == {"sent": 250}
    assert len(set(simulator.accepted_addresses())) == len(simulator.accepted_addresses()) == 250
    lost = SendBatch.objects.filter(lost_worker=True)
    assert lost.count() == 3
    assert all("log holds" in batch.answer for batch in lost)


def hung(simulator: Simulator) -> int:
    return sum(call.fault == "hang" for call in simulator.calls)


def has_met_it(simulator: Simulator, poison: Campaign, met: int) -> bool:
    """Say whether a worker has begun another call with the poison, or there is none left."""
    return hung(simulator) > met or is_over(poison)


def test_mail_that_kills_its_worker_is_given_up_and_the_next_campaign_goes_out(simulator: Simulator) -> None:
    Stream.objects.update(batch_size=50, lease=timedelta(seconds=1), max_attempts=2)
    poison, well = campaign_to(10), campaign_to(150)
    simulator.fault(Fault("hang", times=None, only={"tag": f"campaign-{poison.pk}"}))
    kills = 0

    with ExitStack() as stack:
        while Recipient.objects.filter(campaign=poison, status="failed").count() < 10:
            process = stack.enter_context(worker("--worker", "same", **QUICK))
            met = hung(simulator)
            eventually(partial(has_met_it, simulator, poison, met))
            process.kill()
            process.wait()
            kills += 1

    assert 2 <= kills <= 4
    reason = Recipient.objects.filter(campaign=poison)[0].reason
    assert "Worker same stopped during the call." in reason
    assert "Given up after 2 attempts." in reason
    assert Counter(Recipient.objects.filter(campaign=well).values_list("status", flat=True))["pending"] < 150
    with worker(**QUICK):
        eventually(lambda: is_over(well) and is_over(poison))
    assert set(Counter(simulator.accepted_addresses()).values()) == {1}
    assert len(simulator.accepted_addresses()) == 150
