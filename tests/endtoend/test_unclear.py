"""The real worker process settles what nobody knows, beside sending."""

from collections import Counter

import pytest

from campaigns.models import Recipient, SendBatch
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.server import Simulator
from tests.factories import CampaignFactory, RecipientFactory, SenderDomainFactory
from tests.processes import eventually, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.mark.parametrize("accepted", [False, True], ids=["not taken", "taken"])
def test_a_running_worker_settles_unclear_mail_from_the_log(simulator: Simulator, accepted: bool) -> None:
    domain = SenderDomainFactory.create(name="mg.example.com")
    for campaign in CampaignFactory.create_batch(2, status="sending", domain=domain):
        RecipientFactory.create_batch(3, campaign=campaign)
    simulator.fault(Fault("drop", accept=accepted))

    with worker(RESOLVER_WAITS="0.5,1"):
        eventually(lambda: states() == {"sent": 6})

    addresses = simulator.accepted_addresses()
    assert len(addresses) == len(set(addresses)) == 6
    assert SendBatch.objects.filter(answer__startswith="Mailgun's log").count() == 1


def states() -> dict[str, int]:
    return dict(Counter(Recipient.objects.values_list("status", flat=True)))
