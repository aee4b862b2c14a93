"""One batch from claim to settle, over real HTTP to the simulated Mailgun."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models.functions import Now
from pytest_django.fixtures import Settings

from campaigns import resolver
from campaigns.delivery import Delivery, Part
from campaigns.mail import CampaignMail, CampaignTurn
from campaigns.models import Campaign, Recipient, SendBatch, SenderDomain, Stream
from campaigns.sql import jobs, queue
from mailkoenig.providers.mailgun.client import MailgunClient
from mailkoenig.providers.types import Call
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.server import Simulator
from tests.factories import CampaignFactory, ContactFactory, RecipientFactory, SenderDomainFactory
from tests.turns import turn_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return CampaignFactory.create(status="sending", domain=SenderDomainFactory.create(name="mg.example.com"))


@pytest.fixture
def delivery(simulator: Simulator) -> Iterator[Delivery]:
    client = MailgunClient()
    yield Delivery(provider=client, worker="w1", persist=run, random=lambda: 0.0)
    client.close()


def run(write: Callable[[], object]) -> object:
    return write()


def recipients(campaign: Campaign, number: int) -> list[Recipient]:
    return RecipientFactory.create_batch(number, campaign=campaign)


def states(campaign: Campaign) -> dict[str, int]:
    return dict(Counter(Recipient.objects.filter(campaign=campaign).values_list("status", flat=True)))


def test_everybody_gets_their_own_copy_once(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    people = recipients(campaign, 3)

    assert delivery.send_one(turn_of(campaign))

    assert sorted(simulator.accepted_addresses()) == sorted(person.email for person in people)
    assert {copy.subject for copy in simulator.copies()} == {f"News for {person.name}" for person in people}
    assert {copy.to for copy in simulator.copies()} == {person.email for person in people}
    assert states(campaign) == {"sent": 3}


def test_nobody_waiting_is_no_call(campaign: Campaign, delivery: Delivery, simulator: Simulator) -> None:
    assert not delivery.send_one(turn_of(campaign))
    assert simulator.calls == []


def test_the_marker_and_the_way_out_are_in_every_copy(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    people = {person.email: person for person in recipients(campaign, 2)}

    delivery.send_one(turn_of(campaign))

    batch = SendBatch.objects.get()
    assert (batch.state, batch.accepted, batch.provider_id) == ("accepted", 2, f"{batch.pk}@mg.example.com")
    for copy in simulator.copies():
        contact = people[copy.address].contact
        assert contact is not None
        headers = dict(copy.headers)
        assert (
            headers["List-Unsubscribe"]
            == f"<https://mail.example.com/unsubscribe/{contact.unsubscribe_token}/>"
        )
        assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        assert headers["Message-Id"] == f"<{batch.pk}@mg.example.com>"
        assert copy.variables == {
            "batch": str(batch.pk),
            "rid": str(people[copy.address].pk),
            "campaign": str(campaign.pk),
        }


def test_one_person_alone_gets_a_finished_mail(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    (person,) = recipients(campaign, 1)

    delivery.send_one(turn_of(campaign))

    (copy,) = simulator.copies()
    assert copy.to == person.email
    assert copy.variables["rid"] == str(person.pk)
    assert "%recipient" not in copy.subject + copy.html + copy.text + str(copy.headers)


def test_a_text_without_any_tag_still_shows_one_address_each(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    Campaign.objects.update(subject="News", body="Hello")
    people = recipients(campaign, 3)

    delivery.send_one(turn_of(campaign))

    assert sorted(copy.to for copy in simulator.copies()) == sorted(person.email for person in people)


def test_a_name_that_looks_like_a_provider_variable_goes_alone(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    recipients(campaign, 2)
    RecipientFactory.create(campaign=campaign, name="%recipient.rid%")

    delivery.send_one(turn_of(campaign))

    assert sorted(call.recipients for call in simulator.calls) == [1, 2]
    assert "News for %recipient.rid%" in {copy.subject for copy in simulator.copies()}
    assert states(campaign) == {"sent": 3}


def test_who_left_since_the_claim_is_not_in_the_call(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    stays, leaves = recipients(campaign, 2)
    assert leaves.contact is not None
    leaves.contact.__class__.objects.filter(pk=leaves.contact.pk).update(status="unsubscribed")

    delivery.send_one(turn_of(campaign))

    assert simulator.accepted_addresses() == [stays.email]
    assert states(campaign) == {"sent": 1, "skipped": 1}


def test_one_bad_address_fails_alone_and_costs_the_others_nothing(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    people = recipients(campaign, 100)
    simulator.fault(Fault("bad_address", times=None, address=people[57].email))

    delivery.send_one(turn_of(campaign))

    assert states(campaign) == {"sent": 99, "failed": 1}
    assert "not a valid address" in Recipient.objects.get(status="failed").reason
    assert len(simulator.calls) <= 2 * 8
    assert simulator.duplicates() == []
    assert set(Recipient.objects.values_list("attempts", flat=True)) == {1}


def test_a_bad_address_that_is_named_takes_three_calls(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    people = recipients(campaign, 100)
    simulator.fault(Fault("bad_address", times=None, address=people[57].email, naming=True))

    delivery.send_one(turn_of(campaign))

    assert len(simulator.calls) == 3
    assert states(campaign) == {"sent": 99, "failed": 1}


def test_probation_makes_smaller_batches_for_a_day(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    recipients(campaign, 25)
    simulator.fault(Fault("probation", times=None))

    while delivery.send_one(turn_of(campaign)):
        pass

    assert [call.recipients for call in simulator.calls] == [25, 10, 10, 5]
    assert states(campaign) == {"sent": 25}
    assert SenderDomain.objects.get().batch_limit == 10


@pytest.mark.parametrize("status", [420, 429])
def test_a_rate_limit_holds_the_domain_as_long_as_it_says(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, status: int
) -> None:
    recipients(campaign, 2)
    simulator.fault(Fault("rate_limit", status=status, seconds=120))

    delivery.send_one(turn_of(campaign))

    domain = SenderDomain.objects.annotate(now=Now()).get()
    assert domain.held_until is not None
    assert timedelta(seconds=110) < domain.held_until - domain.now <= timedelta(seconds=120)
    assert states(campaign) == {"pending": 2}
    assert set(Recipient.objects.values_list("attempts", flat=True)) == {0}
    assert not delivery.send_one(turn_of(campaign))
    assert len(simulator.calls) == 1


def test_waits_without_a_hint_grow(campaign: Campaign, delivery: Delivery, simulator: Simulator) -> None:
    recipients(campaign, 1)
    simulator.fault(Fault("answer", times=None, status=429, body={"message": "slow down"}))
    waits = []

    for _ in range(4):
        SenderDomain.objects.update(held_until=None, probe_until=None)
        Recipient.objects.update(next_attempt_at=Now())
        delivery.send_one(turn_of(campaign))
        domain = SenderDomain.objects.annotate(now=Now()).get()
        assert domain.held_until is not None
        waits.append(round((domain.held_until - domain.now).total_seconds()))

    assert waits == [5, 10, 20, 40]


def test_after_a_wait_one_call_goes_first_and_opens_the_way(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    recipients(campaign, 2)
    SenderDomain.objects.update(held_until=Now() - timedelta(seconds=1), throttles=3)

    delivery.send_one(turn_of(campaign))

    domain = SenderDomain.objects.get()
    assert (domain.held_until, domain.probe_until, domain.throttles) == (None, None, 0)
    assert states(campaign) == {"sent": 2}


@pytest.mark.parametrize(
    "action", ["unauthorized", "payment", "terminated", "not_found", "unverified", "magnificent", "redirect"]
)
def test_what_is_about_us_pauses_the_domain_and_burns_nobody(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, action: str
) -> None:
    recipients(campaign, 3)
    simulator.fault(Fault(action))

    delivery.send_one(turn_of(campaign))

    domain = SenderDomain.objects.get()
    assert domain.status == "paused"
    assert domain.paused_reason
    assert states(campaign) == {"pending": 3}
    assert set(Recipient.objects.values_list("attempts", flat=True)) == {0}
    assert queue.ready() == []


def test_a_content_fault_at_the_provider_pauses_the_campaign(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    recipients(campaign, 3)
    simulator.fault(Fault("answer", status=400, body={"message": "'from' parameter is not a valid address"}))

    delivery.send_one(turn_of(campaign))

    campaign.refresh_from_db()
    assert (campaign.status, states(campaign)) == ("paused", {"pending": 3})
    assert "from" in campaign.status_reason


def test_a_broken_template_pauses_the_campaign_before_any_call(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    Campaign.objects.update(body="Hello {% load static %}")
    recipients(campaign, 2)

    delivery.send_one(turn_of(campaign))

    campaign.refresh_from_db()
    assert (campaign.status, states(campaign), simulator.calls) == ("paused", {"pending": 2}, [])
    assert "load" in campaign.status_reason


@pytest.mark.parametrize(
    "fault",
    [
        Fault("error", status=500),
        Fault("error", status=502, accept=True),
        Fault("drop"),
        Fault("drop", accept=True),
        Fault("cut"),
        Fault("truncated"),
        Fault("html", status=502),
    ],
    ids=lambda fault: f"{fault.action}-{fault.status}-{fault.accept}",
)
def test_an_unclear_answer_leaves_everybody_unknown_and_untouched(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, fault: Fault
) -> None:
    recipients(campaign, 3)
    simulator.fault(fault)

    delivery.send_one(turn_of(campaign))

    assert states(campaign) == {"unknown": 3}
    assert SendBatch.objects.get().state == "unknown"
    assert not delivery.send_one(turn_of(campaign))
    assert len(simulator.calls) == 1


@pytest.mark.parametrize(
    "fault",
    [Fault("hang"), Fault("drip", seconds=0.1), Fault("drip", seconds=0.1, part="headers")],
    ids=["silence", "body", "headers"],
)
def test_a_call_ends_however_slowly_the_answer_comes(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, settings: Settings, fault: Fault
) -> None:
    settings.MAILGUN_READ_TIMEOUT = 0.5
    settings.MAILGUN_CALL_TIMEOUT = 1.0
    recipients(campaign, 1)
    simulator.fault(fault)

    delivery.send_one(turn_of(campaign))

    assert states(campaign) == {"unknown": 1}


def test_a_provider_that_cannot_be_reached_holds_the_domain(
    campaign: Campaign, delivery: Delivery, settings: Settings
) -> None:
    settings.MAILGUN_API_URL = "http://127.0.0.1:9"
    recipients(campaign, 2)

    delivery.send_one(turn_of(campaign))

    assert states(campaign) == {"pending": 2}
    assert "reached" in SenderDomain.objects.get().held_reason
    assert set(Recipient.objects.values_list("attempts", flat=True)) == {0}


def test_a_batch_is_cut_by_bytes_too(
    campaign: Campaign, delivery: Delivery, simulator: Simulator, settings: Settings
) -> None:
    Campaign.objects.update(body="Hello {{ story }}")
    for _ in range(6):
        contact = ContactFactory.create(attributes={"story": "x" * 3_000})
        RecipientFactory.create(campaign=campaign, contact=contact)
    settings.SENDER_MAX_CALL_BYTES = 30_000

    delivery.send_one(turn_of(campaign))

    assert all(call.bytes <= 30_000 for call in simulator.calls)
    assert len(simulator.calls) > 1
    assert states(campaign) == {"sent": 6}


def test_values_that_the_provider_would_lose_go_alone(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    Campaign.objects.update(body="Hello {{ story }}")
    recipients(campaign, 2)
    RecipientFactory.create(
        campaign=campaign, contact=ContactFactory.create(attributes={"story": "y" * 20_000})
    )

    delivery.send_one(turn_of(campaign))

    assert sorted(call.recipients for call in simulator.calls) == [1, 2]
    assert any("y" * 20_000 in copy.text.replace("\n", "") for copy in simulator.copies())


def test_a_lease_that_was_taken_away_changes_nothing(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    recipients(campaign, 2)

    def take_away(message: object) -> None:
        batch = SendBatch.objects.get()
        jobs.RECIPIENTS.give_back(batch=batch.pk, reason="taken away", after=timedelta(0), refund=0)
        queue.close(batch=batch.pk, state="returned", answer="taken away")

    original = delivery.provider.send

    def send(call: object) -> object:
        take_away(call)
        return original(call)  # type: ignore[arg-type]  # handed on as it came

    delivery.provider.send = send  # type: ignore[assignment,method-assign]  # the moment between call and answer

    delivery.send_one(turn_of(campaign))

    assert states(campaign) == {"pending": 2}
    assert SendBatch.objects.get().answer == "taken away"


def test_a_late_yes_settles_people_that_nobody_has_touched(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    recipients(campaign, 2)
    original = delivery.provider.send

    def send(call: object) -> object:
        batch = SendBatch.objects.get()
        resolver.note_unknown(batch.pk, jobs.RECIPIENTS, reason="lease ran out")
        return original(call)  # type: ignore[arg-type]  # handed on as it came

    delivery.provider.send = send  # type: ignore[assignment,method-assign]  # the moment between call and answer

    delivery.send_one(turn_of(campaign))

    assert states(campaign) == {"sent": 2}


def test_a_pause_between_claim_and_call_gives_everybody_back(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    recipients(campaign, 2)
    batch = uuid4()
    people = queue.claim(campaign=campaign.pk, batch=batch, worker="w1")
    Campaign.objects.update(status="paused")

    mail = turn_of(campaign).mail(batch, people, dialect=delivery.provider.dialect)
    assert delivery.begin(Part(batch, people), mail, probing=False) is None
    assert states(campaign) == {"pending": 2}
    assert set(Recipient.objects.values_list("attempts", flat=True)) == {0}


def test_the_shared_domain_sends_from_itself_and_answers_go_to_the_author(
    delivery: Delivery, simulator: Simulator
) -> None:
    shared = SenderDomainFactory.create(name="shared.example.net", is_shared=True)
    campaign = CampaignFactory.create(
        status="sending", domain=shared, from_email="owner@example.org", from_name='Eva "E" Müller'
    )
    recipients(campaign, 2)

    delivery.send_one(turn_of(campaign))

    copy = simulator.copies()[0]
    assert copy.sender == '"Eva \\"E\\" Müller" <news@shared.example.net>'
    assert dict(copy.headers)["Reply-To"] == "owner@example.org"


def test_a_smaller_stream_batch_takes_effect_at_the_next_claim(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    recipients(campaign, 5)
    Stream.objects.filter(name="campaigns").update(batch_size=2)

    delivery.send_one(turn_of(campaign))

    assert [call.recipients for call in simulator.calls] == [2]


def test_a_mail_that_is_too_large_for_one_pauses_the_campaign_after_a_few_calls(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    recipients(campaign, 64)
    simulator.fault(Fault("too_large", times=None))

    delivery.send_one(turn_of(campaign))

    campaign.refresh_from_db()
    assert (campaign.status, states(campaign)) == ("paused", {"pending": 64})
    assert "too large" in campaign.status_reason
    assert [call.recipients for call in simulator.calls] == [64, 32, 16, 8, 4, 2, 1]


class Unmakeable(CampaignTurn):
    """A campaign that our own code stumbles over."""

    def mail(self, *args: object, **kwargs: object) -> CampaignMail:
        raise LookupError


def test_an_error_of_ours_before_the_call_gives_everybody_back_and_counts(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    recipients(campaign, 2)

    with pytest.raises(LookupError):
        delivery.send_one(Unmakeable(campaign.pk, campaign.domain_id or 0))

    assert states(campaign) == {"pending": 2}
    assert set(Recipient.objects.values_list("attempts", "reason")) == {
        (1, "The worker met an error before the call (LookupError).")
    }
    assert SendBatch.objects.get().state == "returned"
    assert not simulator.calls


class Unwritable(CampaignMail):
    """A mail of which no call can be made."""

    def call(self, *args: object, **kwargs: object) -> Call:
        raise LookupError


def test_an_error_of_ours_after_the_beginning_is_known_not_to_be_sent(
    campaign: Campaign, delivery: Delivery, simulator: Simulator
) -> None:
    recipients(campaign, 2)
    batch = uuid4()
    people = queue.claim(campaign=campaign.pk, batch=batch, worker="w1")
    assert campaign.domain is not None

    delivery.send_parts(
        [Part(batch, people)], Unwritable(campaign, campaign.domain, delivery.provider.dialect), probing=False
    )

    campaign.refresh_from_db()
    assert (campaign.status, campaign.status_reason) == ("paused", "The mail can't be made (LookupError).")
    assert states(campaign) == {"pending": 2}
    assert not simulator.calls
