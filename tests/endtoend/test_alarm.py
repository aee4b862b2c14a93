"""The age of the oldest mail wakes somebody within its budget, and says so when it is over (case C65)."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest

from campaigns import services
from campaigns.models import Message, Stream
from mailkoenig.monitoring.models import Alert
from mailkoenig.simulator import Fault, Simulator
from tests.endtoend.test_worker import TIMEOUTS, campaign_to
from tests.factories import SenderDomainFactory
from tests.hook import Hook
from tests.processes import eventually, manage, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
BUDGET = 3


@pytest.fixture
def hook() -> Iterator[Hook]:
    found = Hook()
    yield found
    found.close()


def heard(hook: Hook, kind: str) -> list[str]:
    return [said["event"] for said in hook.bodies if (said["kind"], said["subject"]) == (kind, "receipts")]


def test_without_their_worker_receipts_raise_the_alarm_once_and_it_is_over_with_it(
    simulator: Simulator, hook: Hook
) -> None:
    domain = SenderDomainFactory.create(name="receipts.example.com")
    Stream.objects.filter(name="receipts").update(domain=domain, age_budget=timedelta(seconds=BUDGET))
    campaign = campaign_to(300)
    simulator.fault(
        Fault("rate_limit", seconds=60, hint="header", times=None, only={"domain": campaign.domain.name})  # type: ignore[union-attr]  # it has one
    )
    watching = {"ALERT_WEBHOOK_URL": hook.url, "ALERTS_EVERY": "0.3", "ADMINS": "", **TIMEOUTS}

    with (
        worker("--stream", "campaigns", **watching) as _,
        worker("--stream", "campaigns", **watching) as _,
    ):
        for number in range(20):
            services.enqueue_message(
                stream="receipts",
                idempotency_key=f"order-{number}",
                to="ada@example.com",
                subject="s",
                text="t",
            )
        eventually(lambda: heard(hook, "stalled"), within=BUDGET + 10)
        said = next(said for said in hook.bodies if said["kind"] == "stalled")
        assert BUDGET <= said["details"]["oldest_ready"] < BUDGET + 5
        assert (said["details"]["stopped"], said["details"]["workers"]) == ("ready", 0)
        looked = manage("check_alerts", "--json")
        assert looked.returncode == 1
        assert "receipts" in looked.stderr
        assert "stalled" in {found["kind"] for found in json.loads(looked.stdout)["alerts"]}

        with worker("--stream", "receipts", **watching):
            eventually(lambda: not Message.objects.exclude(status="sent").exists())
            eventually(lambda: "cleared" in heard(hook, "stalled"))

    assert heard(hook, "stalled") == ["began", "cleared"]
    told = Counter((said["kind"], said["event"]) for said in hook.bodies)
    assert set(told.values()) == {1}, "three workers looked several times a second"
    assert not Alert.objects.filter(kind="stalled", cleared_at=None).exists()
