"""What nobody knows is settled by evidence, and by nothing else."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from pytest_django.fixtures import Settings

from campaigns import housekeeping, reports, resolver
from campaigns.delivery import Delivery
from campaigns.models import Campaign, Recipient, SendBatch, SentMessage, Stream
from campaigns.resolver import Decision, decide
from mailkoenig.lib.command import UserError
from mailkoenig.providers.mailgun.client import MailgunClient
from mailkoenig.providers.mailgun.log import MailgunLog
from mailkoenig.providers.types import Verdict
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.server import Simulator
from tests.factories import CampaignFactory, RecipientFactory, SenderDomainFactory
from tests.turns import turn_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return CampaignFactory.create(status="sending", domain=SenderDomainFactory.create(name="mg.example.com"))


@pytest.fixture
def delivery(simulator: Simulator) -> Iterator[Delivery]:
    client = MailgunClient()
    yield Delivery(provider=client, worker="w1", persist=lambda write: write())
    client.close()


@pytest.fixture
def log(simulator: Simulator) -> Iterator[MailgunLog]:
    reader = MailgunLog()
    yield reader
    reader.close()


def lose(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, *, accepted: bool, people: int = 3
) -> SendBatch:
    """Send a batch whose answer is lost, and return it."""
    RecipientFactory.create_batch(people, campaign=campaign)
    simulator.fault(Fault("drop", accept=accepted))
    delivery.send_one(turn_of(campaign))
    return SendBatch.objects.get(state="unknown")


def ask_until_settled(log: MailgunLog, *, asks: int = 5) -> int:
    """Ask at each of the moments; return how often that was."""
    for asked in range(asks):
        SendBatch.objects.filter(state="unknown", next_ask_at__isnull=False).update(next_ask_at=Now())
        if not resolver.turn(log):
            return asked
    return asks


def prove_the_log_alive(delivery: Delivery) -> None:
    """Have another mail of the same domain accepted."""
    other = CampaignFactory.create(status="sending", domain=Campaign.objects.all()[0].domain)
    RecipientFactory.create(campaign=other)
    delivery.send_one(turn_of(other))


def states(campaign: Campaign) -> dict[str, int]:
    return dict(Counter(Recipient.objects.filter(campaign=campaign).values_list("status", flat=True)))


@pytest.mark.parametrize(
    ("verdict", "is_last", "on_unknown", "decision"),
    [
        (Verdict.ACCEPTED, False, "hold", Decision.ACCEPTED),
        (Verdict.ABSENT, False, "resend", Decision.WAIT),
        (Verdict.ABSENT, True, "hold", Decision.RETURN),
        (Verdict.NO_ANSWER, False, "resend", Decision.WAIT),
        (Verdict.NO_ANSWER, True, "resend", Decision.RESEND),
        (Verdict.NO_ANSWER, True, "hold", Decision.HOLD),
    ],
)
def test_presence_counts_at_once_and_absence_at_the_deadline(
    verdict: Verdict, is_last: bool, on_unknown: str, decision: Decision
) -> None:
    assert decide(verdict, is_last=is_last, on_unknown=on_unknown) is decision


def test_a_hit_in_the_log_settles_the_whole_batch(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, log: MailgunLog
) -> None:
    batch = lose(campaign, delivery, simulator, accepted=True)

    assert ask_until_settled(log) == 1

    batch.refresh_from_db()
    assert (batch.state, batch.accepted, states(campaign)) == ("accepted", 3, {"sent": 3})
    assert SentMessage.objects.filter(batch_id=batch.pk).count() == 3
    assert simulator.duplicates() == []


def test_it_is_not_asked_before_its_time(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, log: MailgunLog
) -> None:
    lose(campaign, delivery, simulator, accepted=True)

    assert not resolver.turn(log)


def test_absence_before_the_deadline_touches_nobody(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, log: MailgunLog
) -> None:
    batch = lose(campaign, delivery, simulator, accepted=False)
    prove_the_log_alive(delivery)

    ask_until_settled(log, asks=4)

    batch.refresh_from_db()
    assert (batch.state, batch.asks, states(campaign)) == ("unknown", 4, {"unknown": 3})
    assert "no event" in batch.finding


def test_absence_at_the_deadline_makes_everybody_ready_again_at_no_cost(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, log: MailgunLog
) -> None:
    lose(campaign, delivery, simulator, accepted=False)
    prove_the_log_alive(delivery)

    assert ask_until_settled(log) == 5

    assert states(campaign) == {"pending": 3}
    assert set(Recipient.objects.filter(campaign=campaign).values_list("attempts", "unclear_batch_id")) == {
        (0, None)
    }
    delivery.send_one(turn_of(campaign))
    assert states(campaign) == {"sent": 3}
    assert simulator.duplicates() == []


def test_an_empty_log_proves_nothing_and_the_policy_decides(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, log: MailgunLog
) -> None:
    batch = lose(campaign, delivery, simulator, accepted=False)

    ask_until_settled(log)

    assert states(campaign) == {"pending": 3}
    assert set(Recipient.objects.values_list("unclear_batch_id", flat=True)) == {batch.pk}


@pytest.mark.parametrize(
    "fault",
    [
        Fault("error", on="events", times=None),
        Fault("unauthorized", on="events", times=None),
        Fault("html", on="events", times=None),
        Fault("drop", on="events", times=None),
        Fault("empty", on="events", times=None),
    ],
    ids=lambda fault: fault.action,
)
@pytest.mark.parametrize("policy", ["resend", "hold"])
def test_where_the_log_cannot_be_asked_the_policy_decides_and_who_is_at_risk_is_listed(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, log: MailgunLog, fault: Fault, policy: str
) -> None:
    Stream.objects.filter(name="campaigns").update(on_unknown=policy)
    batch = lose(campaign, delivery, simulator, accepted=True)
    simulator.fault(fault)

    ask_until_settled(log)

    assert states(campaign) == {"pending" if policy == "resend" else "unknown": 3}
    assert {person.batch for person in reports.at_risk(campaign.pk)} == {str(batch.pk)}
    assert len(reports.at_risk(campaign.pk)) == 3


def test_without_an_account_key_the_reason_is_said(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, log: MailgunLog, settings: Settings
) -> None:
    settings.MAILGUN_API_KEY = ""
    batch = lose(campaign, delivery, simulator, accepted=True)

    ask_until_settled(log, asks=1)

    batch.refresh_from_db()
    assert "MAILGUN_API_KEY" in batch.finding


@pytest.mark.parametrize(("as_sent", "status"), [(True, "sent"), (False, "pending")])
def test_a_person_decides_what_is_held(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, log: MailgunLog, as_sent: bool, status: str
) -> None:
    Stream.objects.filter(name="campaigns").update(on_unknown="hold")
    batch = lose(campaign, delivery, simulator, accepted=True)
    with pytest.raises(UserError, match="does not wait"):
        resolver.settle_held(batch.pk, as_sent=as_sent, by="ada")
    simulator.fault(Fault("empty", on="events", times=None))
    ask_until_settled(log)

    resolver.settle_held(batch.pk, as_sent=as_sent, by="ada")

    batch.refresh_from_db()
    assert (states(campaign), batch.settled_by) == ({status: 3}, "ada")
    with pytest.raises(UserError, match="does not wait"):
        resolver.settle_held(batch.pk, as_sent=as_sent, by="bea")


def test_an_event_that_came_before_the_worker_was_missed_settles_it_at_once(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    RecipientFactory.create(campaign=campaign)
    simulator.fault(Fault("hang", accept=True, seconds=0.01))
    delivery.send_one(turn_of(campaign))
    SendBatch.objects.update(
        state="in_flight", evidence_at=Now(), lease_expires_at=Now() - timedelta(seconds=1)
    )
    Recipient.objects.update(status="sending", locked_at=Now(), locked_by="gone")

    housekeeping.recover()

    assert states(campaign) == {"sent": 1}


def test_a_key_in_the_ledger_is_never_sent_again(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    got, new = RecipientFactory.create_batch(2, campaign=campaign)
    delivery.send_one(turn_of(campaign))
    assert SentMessage.objects.filter(pk=f"campaign-{campaign.pk}:contact-{got.contact_id}").exists()
    SentMessage.objects.filter(pk=f"campaign-{campaign.pk}:contact-{new.contact_id}").delete()
    Recipient.objects.update(status="pending", batch=None, next_attempt_at=Now())

    delivery.send_one(turn_of(campaign))

    assert states(campaign) == {"sent": 2}
    assert simulator.accepted_addresses().count(got.email) == 1
    assert simulator.accepted_addresses().count(new.email) == 2


def test_a_page_on_another_host_gets_no_key(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, log: MailgunLog
) -> None:
    batch = lose(campaign, delivery, simulator, accepted=False)
    page = {"items": [{"event": "opened", "id": "x"}], "paging": {"next": "http://127.0.0.1:9/steal"}}
    simulator.fault(Fault("answer", on="events", status=200, body=page, times=None))

    ask_until_settled(log, asks=1)

    batch.refresh_from_db()
    assert "another host" in batch.finding
