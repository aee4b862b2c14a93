"""Faults of sending that people reported on other systems, with real workers and a real server."""

from collections import Counter

import pytest
import requests
from pytest_django.live_server_helper import LiveServer

from campaigns import reports, services
from campaigns.models import Campaign, Recipient, SendBatch, Stream
from contacts.models import Contact, Membership
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.server import Simulator
from tests.endtoend.test_worker import TIMEOUTS, campaign_to, is_over
from tests.processes import eventually, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def counted(campaign: Campaign) -> dict[str, int]:
    return {status: people for status, people in reports.counts(campaign.pk).items() if people}


def rename(campaign: Campaign, number: int, address: str) -> None:
    """Give somebody an address that no import would let in."""
    contact = Contact.objects.filter(lists__campaigns=campaign).order_by("pk")[number]
    Contact.objects.filter(pk=contact.pk).update(email=address)


def test_one_bad_address_costs_the_499_others_nothing(simulator: Simulator) -> None:
    campaign = campaign_to(500)
    rename(campaign, 257, "row..257@example.com")

    with worker(SENDER_CONCURRENCY="1", **TIMEOUTS):
        eventually(lambda: is_over(campaign))

    assert counted(campaign) == {"sent": 499, "failed": 1}
    assert "not a valid address" in Recipient.objects.get(status="failed").reason
    assert set(Recipient.objects.filter(status="sent").values_list("attempts", flat=True)) == {1}
    assert len(set(simulator.accepted_addresses())) == len(simulator.accepted_addresses()) == 499
    assert len(simulator.calls) <= 2 * 9 + 1


def test_workers_of_one_name_share_the_work_and_mix_no_campaigns(simulator: Simulator) -> None:
    Stream.objects.update(batch_size=40)
    campaigns = [campaign_to(200) for _ in range(3)]
    simulator.fault(Fault("latency", times=None, seconds=[0, 0.4]))

    with worker("--worker", "same", **TIMEOUTS), worker("--worker", "same", **TIMEOUTS):
        eventually(lambda: all(is_over(campaign) for campaign in campaigns), within=40)

    got = Counter((copy.variables["campaign"], copy.address) for copy in simulator.copies())
    assert set(got.values()) == {1}
    for campaign in campaigns:
        addresses = set(Recipient.objects.filter(campaign=campaign).values_list("email", flat=True))
        assert {address for pk, address in got if pk == str(campaign.pk)} == addresses
        assert counted(campaign) == {"sent": 200}


def test_large_values_are_neither_lost_nor_too_much_for_a_call(simulator: Simulator) -> None:
    simulator.store.largest_variables = 16_000
    campaign = campaign_to(40)
    Campaign.objects.update(body="Hello {{ story }}")
    for number, contact in enumerate(Contact.objects.order_by("pk")):
        size = 20_000 if number % 4 == 0 else 5_000
        Contact.objects.filter(pk=contact.pk).update(attributes={"story": f"s{number}-".ljust(size, "x")})

    with worker(SENDER_MAX_CALL_BYTES="60000", **TIMEOUTS):
        eventually(lambda: is_over(campaign))

    copies = {copy.address: copy for copy in simulator.copies()}
    assert len(copies) == len(simulator.accepted_addresses()) == 40
    for number, person in enumerate(Contact.objects.order_by("pk")):
        assert f"s{number}-x" in copies[person.email].text
    assert max(call.bytes for call in simulator.calls) <= 60_000


def test_who_leaves_by_link_while_it_runs_is_in_no_later_call(
    simulator: Simulator, live_server: LiveServer
) -> None:
    Stream.objects.update(batch_size=20)
    campaign = campaign_to(100)
    simulator.fault(Fault("latency", times=None, seconds=0.5))
    with worker(SENDER_CONCURRENCY="1", **TIMEOUTS):
        eventually(lambda: simulator.calls)
        people = Contact.objects.filter(pk__in=Membership.objects.values("contact")).order_by("-pk")[:5]
        for person in people:
            url = f"{live_server.url}/unsubscribe/{person.unsubscribe_token}/"
            answer = requests.post(url, data={"List-Unsubscribe": "One-Click"}, timeout=10)
            assert answer.status_code == 200
        began = len(simulator.calls)
        eventually(lambda: is_over(campaign))

    assert began < 5
    assert counted(campaign) == {"sent": 95, "skipped": 5}
    assert not {person.email for person in people} & set(simulator.accepted_addresses())
    assert set(Recipient.objects.filter(status="skipped").values_list("reason", flat=True)) == {
        "unsubscribed"
    }


def test_only_open_calls_finish_after_a_pause_and_a_resume_repeats_nobody(simulator: Simulator) -> None:
    Stream.objects.update(batch_size=20)
    campaign = campaign_to(240)
    simulator.fault(Fault("latency", times=None, seconds=0.6))

    with worker(SENDER_CONCURRENCY="2", **TIMEOUTS):
        eventually(lambda: len(simulator.calls) >= 3)
        services.pause(campaign)
        eventually(lambda: not SendBatch.objects.filter(state__in=["leased", "in_flight"]).exists())
        after_pause = len(simulator.calls)
        services.resume(campaign)
        eventually(lambda: len(simulator.calls) > after_pause)
        services.cancel(campaign)
        eventually(lambda: not SendBatch.objects.filter(state__in=["leased", "in_flight"]).exists())

    counts = counted(campaign)
    campaign.refresh_from_db()
    assert campaign.status == "cancelled"
    assert after_pause <= 5
    assert counts["sent"] + counts["pending"] == 240
    addresses = simulator.accepted_addresses()
    assert len(addresses) == len(set(addresses)) == counts["sent"]
