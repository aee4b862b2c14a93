"""A provider that asks for impossible waits, or never finishes answering: everything else goes on."""

import signal
import threading
from datetime import timedelta

import pytest

from campaigns.models import Campaign, Recipient, SenderDomain
from mailkoenig.lib import db
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.server import Simulator
from tests.endtoend.test_worker import campaign_to, is_over
from tests.processes import eventually, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
SHORT = {"MAILGUN_CONNECT_TIMEOUT": "1", "MAILGUN_READ_TIMEOUT": "1.5"}


def domain(campaign: Campaign) -> SenderDomain:
    return SenderDomain.objects.get(campaigns=campaign)


def told_to_wait(simulator: Simulator, campaign: Campaign, *values: str, status: int = 429) -> None:
    headers = [["Retry-After", value] for value in values]
    simulator.fault(
        Fault(
            "answer",
            times=None,
            status=status,
            body={"message": "Too Many Requests"},
            headers=headers,
            only={"domain": domain(campaign).name},
        )
    )


def calls_for(simulator: Simulator, campaign: Campaign) -> int:
    return sum(call.domain == domain(campaign).name for call in simulator.calls)


def test_waits_in_any_shape_end_in_one_call_and_hold_nobody_else(simulator: Simulator) -> None:
    rubbish, huge, twice, well = (campaign_to(20) for _ in range(4))
    told_to_wait(simulator, rubbish, "-5")
    told_to_wait(simulator, huge, "9223372037", status=420)
    told_to_wait(simulator, twice, "1", "30")

    with worker(SENDER_CONCURRENCY="2", **SHORT):
        eventually(lambda: is_over(well))
        eventually(lambda: all(domain(campaign).throttles for campaign in (rubbish, huge, twice)))
        threading.Event().wait(1.5)

    held = [domain(campaign).held_until for campaign in (rubbish, huge, twice)]
    waits = [moment - db.now() for moment in held if moment is not None]
    assert timedelta(seconds=1) < waits[0] <= timedelta(seconds=6), "its own wait"
    assert timedelta(hours=23) < waits[1] <= timedelta(hours=24), "the ceiling"
    assert timedelta(seconds=20) < waits[2] <= timedelta(seconds=30), "the longer one"
    assert [calls_for(simulator, campaign) for campaign in (rubbish, huge, twice)] == [1, 1, 1]
    waiting = Recipient.objects.filter(status="pending")
    assert set(waiting.values_list("attempts", flat=True)) == {0}
    assert waiting.filter(reason__contains="Too Many Requests").count() == 60


def test_answers_without_end_keep_no_other_campaign_and_no_stop_waiting(simulator: Simulator) -> None:
    stuck, well = campaign_to(200), campaign_to(60)
    name = domain(stuck).name
    simulator.fault(Fault("drip", seconds=0.3, only={"domain": name}))
    simulator.fault(Fault("drip", part="headers", seconds=0.3, times=None, only={"domain": name}))

    with worker(SENDER_CONCURRENCY="1", **SHORT) as process:
        eventually(lambda: is_over(well))
        eventually(lambda: Recipient.objects.filter(status="unknown").exists())
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0

    assert not Recipient.objects.filter(status="sending").exists()
    assert len(simulator.accepted_addresses()) == 60
