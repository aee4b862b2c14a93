"""After a restore the provider's log makes the database remember what was sent, before anything goes on."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from pytest_django.fixtures import Settings

from campaigns import installation
from campaigns.delivery import Delivery
from campaigns.models import Campaign, Installation, Recipient, SendBatch, SenderDomain, SentMessage
from campaigns.sender import Sender
from contacts.models import Membership
from events import poller
from events.models import PollCursor
from mailkoenig.lib.command import UserError
from mailkoenig.providers.mailgun.client import MailgunClient
from mailkoenig.providers.mailgun.log import MailgunLog
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.server import Simulator
from tests.factories import CampaignFactory, ContactListFactory, RecipientFactory, SenderDomainFactory
from tests.turns import turn_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def log() -> Iterator[MailgunLog]:
    reader = MailgunLog()
    yield reader
    reader.close()


@pytest.fixture
def campaign() -> Campaign:
    return CampaignFactory.create(status="sending", domain=SenderDomainFactory.create(name="mg.example.com"))


@pytest.fixture
def restored(campaign: Campaign, simulator: Simulator, settings: Settings, tmp_path: Path) -> Sender:
    """A worker on a database that has forgotten that five of its people got their mail."""
    simulator.happenings.pace = 0.0001
    settings.INSTANCE_FILE = tmp_path / "instance.json"
    installation.Gate().reason()
    RecipientFactory.create_batch(5, campaign=campaign)
    client = MailgunClient()
    Delivery(provider=client, worker="w1", persist=lambda write: write()).send_one(turn_of(campaign))
    client.close()
    RecipientFactory.create_batch(2, campaign=campaign)
    forget(SendBatch.objects.get().pk)
    Installation.objects.update(server="another/1/2")
    return Sender(worker="w")


def forget(batch: UUID) -> None:
    Recipient.objects.filter(batch=batch).update(
        status="pending", batch=None, sent_at=None, attempts=0, next_attempt_at=Now()
    )
    SentMessage.objects.all().delete()
    SendBatch.objects.all().delete()


def test_after_a_restore_the_log_makes_the_database_remember_while_nothing_is_sent(
    restored: Sender, simulator: Simulator, log: MailgunLog
) -> None:
    restored.chores = [lambda: poller.turn(log)]

    restored.run_once()

    assert "another server" in restored.gate.reason()
    assert len(simulator.calls) == 1
    assert states() == {"delivered": 5, "pending": 2}
    assert SentMessage.objects.count() == 5

    installation.confirm(by="ada")
    go_on(restored, simulator)


def test_what_was_accepted_but_not_delivered_yet_is_remembered_too(
    restored: Sender, simulator: Simulator, log: MailgunLog
) -> None:
    simulator.happenings.pace = 60

    poller.turn(log)

    assert states() == {"sent": 5, "pending": 2}


@pytest.mark.parametrize("every", [300, 0])
def test_a_person_who_confirms_has_the_log_read_first(
    restored: Sender, simulator: Simulator, settings: Settings, every: int
) -> None:
    settings.EVENTS_POLL_EVERY = every
    call_command("confirm_restore", "--yes")

    go_on(restored, simulator)


def test_what_was_read_before_the_backup_does_not_hide_what_came_after(
    restored: Sender, simulator: Simulator
) -> None:
    domain = SenderDomain.objects.get()
    PollCursor.objects.create(
        domain=domain, read_to=Now() - timedelta(seconds=1), next_at=Now() + timedelta(hours=1), finding="old"
    )

    call_command("confirm_restore", "--yes")

    go_on(restored, simulator)


def test_without_the_log_nobody_confirms_by_accident(restored: Sender, simulator: Simulator) -> None:
    simulator.fault(Fault("unauthorized", on="events", times=None))

    with pytest.raises(UserError, match=r"mg\.example\.com can't be read: .*MAILGUN_API_KEY.*--without-log"):
        call_command("confirm_restore", "--yes")
    assert restored.gate.reason()

    call_command("confirm_restore", "--yes", "--without-log")
    assert not restored.gate.reason()


def test_a_campaign_that_began_after_the_backup_goes_to_nobody_twice(
    restored: Sender, simulator: Simulator
) -> None:
    campaign = Campaign.objects.get()
    people = [recipient.contact for recipient in Recipient.objects.all() if recipient.contact]
    last = max(Recipient.objects.values_list("pk", flat=True))
    Recipient.objects.all().delete()
    audience = ContactListFactory.create()
    Membership.objects.bulk_create(Membership(list=audience, contact=contact) for contact in people)
    campaign.lists.add(audience)
    Campaign.objects.update(status="scheduled", scheduled_at=Now(), snapshot_finished_at=None)

    call_command("confirm_restore", "--yes")
    restored.run_once()
    restored.providers[0].close()

    addresses = simulator.accepted_addresses()
    assert len(addresses) == len(set(addresses)) == 7
    assert states() == {"sent": 7}
    # Late events still name the ids that were given after the backup: they are nobody's now.
    assert min(Recipient.objects.values_list("pk", flat=True)) > last + 1_000_000
    assert CampaignFactory.create().pk > campaign.pk + 1000


def go_on(worker: Sender, simulator: Simulator) -> None:
    """Send what is left, and see that nobody got it twice."""
    worker.run_once()
    worker.providers[0].close()

    addresses = simulator.accepted_addresses()
    assert len(addresses) == len(set(addresses)) == 7
    assert states() == {"delivered": 5, "sent": 2}


def states() -> dict[str, int]:
    return dict(Counter(Recipient.objects.values_list("status", flat=True)))
