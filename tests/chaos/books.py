"""What must be true after every step."""

from collections import Counter
from collections.abc import Mapping
from uuid import UUID

from campaigns import reports, services, states
from campaigns.models import Campaign, Recipient, SendBatch, SentMessage
from contacts.models import Membership
from mailkoenig.providers.types import EventType
from tests.chaos.calls import keys
from tests.chaos.world import World

HELD = {"leased": "sending", "in_flight": "sending", "unknown": "unknown"}
OF_ITS_BATCH = {"sending": {"leased", "in_flight"}, "unknown": {"unknown"}}


def check(world: World) -> None:
    """Compare the books with themselves and with what the provider knows."""
    people = list(Recipient.objects.order_by("pk"))
    batches = {batch.pk: batch for batch in SendBatch.objects.all()}
    copies = world.post.copies()
    assert {person.pk for person in people} == set(world.owners), "a recipient came or went"
    for person in people:
        check_state(person, batches)
    check_batches(people, batches, world)
    check_ledger(people, world)
    check_acceptance(people, copies, world)
    check_risk(people, copies, world)
    check_told(people, world)


def check_state(person: Recipient, batches: Mapping[UUID, SendBatch]) -> None:
    """One person is in one state, and all of the row agrees with it."""
    is_accepted = person.status in states.LADDER and person.sent_at is not None
    assert is_accepted == (person.sent_at is not None), f"{person.status}, yet taken at some time"
    assert person.status != "sent" or is_accepted
    assert (person.locked_by is not None) == (person.locked_at is not None) == (person.status == "sending")
    if person.status in OF_ITS_BATCH:
        assert person.batch_id is not None
        batch = batches[person.batch_id]
        assert batch.campaign_id == person.campaign_id
        assert batch.state in OF_ITS_BATCH[person.status], f"{person.status} in a batch that is {batch.state}"
    if person.status == "pending":
        assert person.batch_id is None


def check_batches(people: list[Recipient], batches: Mapping[UUID, SendBatch], world: World) -> None:
    """Each batch is held by a lease, waits for an answer with a date, or is settled with a time."""
    held = Counter((person.batch_id, person.status) for person in people)
    for batch in batches.values():
        is_unknown = batch.state == "unknown"
        assert ((batch.next_ask_at is None) != (batch.held_at is None)) == is_unknown, (
            "nobody will ask about it"
        )
        assert (batch.settled_at is None) == (batch.state in ("leased", "in_flight"))
        assert held[batch.pk, HELD.get(batch.state, "sending")] <= batch.size
        if batch.state == "accepted" and batch.pk not in world.by_person:
            taken = [mail for mail in world.post.taken if mail.batch == batch.pk]
            assert batch.accepted == batch.size == len(taken), "a batch counts wrongly"
        if batch.state not in HELD:
            assert not held[batch.pk, "sending"] + held[batch.pk, "unknown"], "people of a settled batch"


def check_ledger(people: list[Recipient], world: World) -> None:
    """The ledger holds one row for each person whom we call accepted, and nothing else."""
    ledger = set(SentMessage.objects.values_list("pk", flat=True))
    accepted = [person for person in people if person.sent_at is not None]
    for person in accepted:
        assert ledger & set(keys(person, world.owners)), "accepted, and not in the ledger"
    assert len(ledger) == len(accepted)


def check_acceptance(people: list[Recipient], copies: Counter[int], world: World) -> None:
    """Whom we call accepted the provider has taken, or a person has said so."""
    for person in people:
        assert person.sent_at is None or copies[person.pk] or person.batch_id in world.by_person, (
            f"{person.email} is {person.status}, and the provider knows nothing of it"
        )


def check_risk(people: list[Recipient], copies: Counter[int], world: World) -> None:
    """Nobody is taken twice, but for those whom we list."""
    twice = {person for person, number in copies.items() if number > 1}
    if not world.post.failed_asks:
        assert not twice, "twice, although the log could be asked"
    listed = (
        {row.id for campaign in world.campaigns for row in reports.at_risk(campaign.pk)} if twice else set()
    )
    assert twice <= listed, "twice, and not listed"


def check_told(people: list[Recipient], world: World) -> None:
    """What the provider has told of a mail is the least that the books say of it."""
    by_id = {person.pk: person for person in people}
    refusals = {event.address for event in world.told if event.type is EventType.SUPPRESSED}
    for event in world.told:
        person = by_id.get(event.recipient or 0)
        if person is None:
            continue
        reached = states.REACHED[event.type]
        assert states.rank(person.status) >= states.rank(reached), (
            f"{event.type} was told, yet {person.status}"
        )
        assert person.status != "failed" or person.email in refusals, "failed, although it was taken"


def check_counts(people: list[Recipient]) -> None:
    """What a campaign's page says adds up to its people."""
    by_campaign = Counter(person.campaign_id for person in people)
    for campaign in Campaign.objects.all():
        assert sum(reports.counts(campaign.pk).values()) == by_campaign[campaign.pk]


def check_end(world: World) -> None:
    """Everybody has got it, or is out for a reason that we can name."""
    check(world)
    check_counts(list(Recipient.objects.all()))
    copies = world.post.copies()
    addresses = {contact.pk: contact.email for contact in world.contacts}
    for campaign in Campaign.objects.exclude(status__in=["draft", "cancelled"]):
        if campaign.status == "paused" and "Nobody on its lists" in refusal(campaign):
            continue
        assert campaign.status == "sent", (
            f"campaign {campaign.pk} is still {campaign.status}: {campaign.status_reason}"
        )
        members = set(
            Membership.objects.filter(list__in=campaign.lists.all()).values_list("contact", flat=True)
        )
        reached = {world.owners[person.pk] for person in campaign.recipients.all()}
        lost = {contact for contact in members - reached if addresses.get(contact) not in world.gone}
        assert not lost, "on the list, and never a recipient"
        for person in campaign.recipients.all():
            check_fate(person, copies, world)


def refusal(campaign: Campaign) -> str:
    """Return why a campaign can't be resumed; empty where it can."""
    return " ".join(services.audience_problems(campaign))


def check_fate(person: Recipient, copies: Counter[int], world: World) -> None:
    """A person's end is one that can be."""
    if copies[person.pk] or person.batch_id in world.by_person:
        return
    if person.status == "skipped":
        assert person.email in world.gone, f"skipped as {person.reason}, and never left"
        return
    assert person.status == "failed", f"{person.email} is {person.status} and never got it"
    assert person.pk in world.refused or person.attempts >= 1
