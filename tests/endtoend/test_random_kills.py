"""Workers that are killed at random moments: nobody lost, and nobody twice as long as the provider's log can be asked.

The small size is part of the suite; KILLS=200 RECIPIENTS=20000 in the environment makes it the full one, and
--junitxml=FILE writes the figures down.
"""

import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

from campaigns import reports
from campaigns.models import Campaign, Recipient, SendBatch, Stream
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.server import Simulator
from tests.endtoend.test_worker import campaign_to, is_over
from tests.processes import ROOT, environment, eventually, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

KILLS = int(os.environ.get("KILLS", "8"))
RECIPIENTS = int(os.environ.get("RECIPIENTS", "2000"))
Note = Callable[[str, object], None]
QUICK = {
    "MAILGUN_CONNECT_TIMEOUT": "1",
    "MAILGUN_READ_TIMEOUT": "4",
    "RESOLVER_WAITS": "1,2,3",
    "SENDER_CONCURRENCY": "2",
}


def kill_at_random(campaign: Campaign, *, seed: int) -> int:
    """Keep two workers running and kill one of them at a random moment, again and again; return how often."""
    dice = random.Random(seed)
    running: list[subprocess.Popen[bytes]] = []
    killed = 0
    try:
        while killed < KILLS and not is_over(campaign):
            while len(running) < 2:
                running.append(start())
            threading.Event().wait(dice.uniform(0.5, 4))
            victim = running.pop(dice.randrange(2))
            victim.kill()
            victim.wait()
            killed += 1
    finally:
        for process in running:
            process.kill()
            process.wait()
    return killed


def start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "run_sender", "--worker", "same"],
        cwd=ROOT,
        env=environment(**QUICK),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def send_under_fire(simulator: Simulator, note: Note, *, seed: int) -> Campaign:
    """Send a campaign while its workers are killed, then let one finish."""
    Stream.objects.update(
        batch_size=max(RECIPIENTS // (5 * KILLS), 1), lease=timedelta(seconds=6), max_attempts=50
    )
    campaign = campaign_to(RECIPIENTS)
    simulator.fault(Fault("latency", times=None, seconds=[0.1, 2]))
    note("kills", kill_at_random(campaign, seed=seed))
    with worker(**QUICK):
        eventually(lambda: is_over(campaign), within=120 + RECIPIENTS / 50)
    assert Counter(Recipient.objects.values_list("status", flat=True)) == {"sent": RECIPIENTS}
    note("accepted", len(simulator.accepted_addresses()))
    note("calls", len(simulator.calls))
    note("killed during a call", SendBatch.objects.filter(lost_worker=True).count())
    note("killed before a call", SendBatch.objects.filter(answer__contains="stopped before the call").count())
    return campaign


def test_nobody_is_lost_and_nobody_gets_it_twice(simulator: Simulator, record_property: Note) -> None:
    send_under_fire(simulator, record_property, seed=1)

    addresses = simulator.accepted_addresses()
    assert len(set(addresses)) == RECIPIENTS
    assert len(addresses) == RECIPIENTS


def test_where_nothing_can_be_asked_nobody_is_lost_and_who_may_have_it_twice_is_listed(
    simulator: Simulator, record_property: Note
) -> None:
    simulator.fault(Fault("error", on="events", times=None))

    campaign = send_under_fire(simulator, record_property, seed=2)

    counted = Counter(simulator.accepted_addresses())
    assert len(counted) == RECIPIENTS
    record_property("lost", RECIPIENTS - len(counted))
    twice = {address for address, times in counted.items() if times > 1}
    listed = {person.email for person in reports.at_risk(campaign.pk, limit=RECIPIENTS)}
    record_property("twice", len(twice))
    record_property("listed at risk", len(listed))
    assert twice <= listed
    assert not SendBatch.objects.filter(state="unknown").exists()
