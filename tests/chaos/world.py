"""Everything that can happen to the queue, one small step each, and what is true whatever the books say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache, partial
from uuid import UUID, uuid4

from django.db import connection, models

from campaigns import housekeeping, resolver, services
from campaigns.delivery import Delivery
from campaigns.models import Campaign, Recipient, SendBatch, SenderDomain, Stream
from contacts import services as contacts
from contacts.models import Contact, ContactList, Membership
from events import services as events
from events.models import Event
from mailkoenig.lib import db
from mailkoenig.lib.command import UserError
from mailkoenig.providers.types import Call, EventType, Kind, Outcome, ProviderEvent
from tests.chaos import calls
from tests.chaos.lanes import Lane
from tests.chaos.post import ANSWERED, CALLING, Client, Post, StoppingTurn, Taken, answer
from tests.factories import CampaignFactory, SenderDomainFactory

CALL_TIMEOUT = timedelta(seconds=70)
GOOD = "Version {}: hello {{{{ name }}}}, [leave]({{{{ unsubscribe_url }}}})"
BROKEN = "Hello {% load static %}"


@dataclass(eq=False)
class Work:
    """One lane, and what we know about it."""

    lane: Lane
    gone: frozenset[str] = frozenset()
    """Who had left when it last went on."""
    called_at: timedelta = timedelta(0)
    outcome: Outcome | None = None

    def go_on(self, world: "World", order: object = None) -> None:
        """Run to the next stop."""
        self.gone = frozenset(world.gone)
        self.lane.go_on(order)
        if self.lane.at == CALLING:
            self.called_at = world.now


@dataclass(eq=False)
class World:
    """The site, its provider and its people."""

    post: Post = field(default_factory=Post)
    works: list[Work] = field(default_factory=list)
    dead: list[Work] = field(default_factory=list)
    campaigns: list[Campaign] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    """Addresses that left, were refused or deleted: nothing may begin for them any more."""
    owners: dict[int, int] = field(default_factory=dict)
    """Recipient to the contact that it was made for."""
    told: list[ProviderEvent] = field(default_factory=list)
    by_person: set[UUID] = field(default_factory=set)
    """Batches that a person decided about."""
    refused: set[int] = field(default_factory=set)
    """Recipients that the provider refused for themselves."""
    now: timedelta = timedelta(0)
    version: int = 0

    def people(self, number: int) -> None:
        """Make two domains and two lists, which share some of the people."""
        self.domains: Sequence[SenderDomain] = [SenderDomainFactory.create(), SenderDomainFactory.create()]
        self.lists = ContactList.objects.bulk_create([ContactList(name="one"), ContactList(name="two")])
        self.contacts = Contact.objects.bulk_create(
            Contact(email=f"p{n}@example.com", name=f"P {n}") for n in range(number)
        )
        half = len(self.contacts) // 2
        members = [(self.lists[0], self.contacts[: half + 1]), (self.lists[1], self.contacts[half - 1 :])]
        Membership.objects.bulk_create(
            Membership(list=audience, contact=contact) for audience, some in members for contact in some
        )

    # Campaigns

    def start_campaign(self, *, lists: int, domain: int) -> Campaign:
        """Write a campaign and send it."""
        campaign: Campaign = CampaignFactory.create(
            lists=self.lists[:lists], domain=self.domains[domain], body=GOOD.format(0)
        )
        self.campaigns.append(campaign)
        attempt(lambda: services.start(campaign))
        return campaign

    def act(self, campaign: Campaign, verb: str) -> None:
        """Let a person pause, resume, start or cancel a campaign, if it can be."""
        attempt(lambda: getattr(services, verb)(campaign))

    def resume_all(self) -> None:
        """Let a person resume what is paused."""
        for campaign in self.campaigns:
            attempt(partial(services.resume, campaign))

    def edit(self, campaign: Campaign, *, broken: bool) -> None:
        """Write other words while it is going out."""
        self.version += 1
        body = BROKEN if broken else GOOD.format(self.version)
        Campaign.objects.filter(pk=campaign.pk).update(body=body)

    # Workers

    def claim(self, campaign: Campaign) -> None:
        """Let a worker take a batch and stop right behind it."""
        stream = Stream.objects.get(name="campaigns")
        domain = SenderDomain.objects.get(campaigns=campaign)
        limit = min(stream.batch_size, domain.batch_limit or stream.batch_size)

        def run(lane: Lane) -> None:
            def persist(write: Callable[[], object]) -> object:
                # A commit whose answer was lost is tried again.
                return [write() for _ in range(lane.pause(ANSWERED))]

            def look(call: Call) -> None:
                calls.check(call, gone=work.gone, most=limit, owners=self.owners)

            client = Client(lane=lane, post=self.post, look=look)
            Delivery(provider=client, worker="same", persist=persist).send_one(
                StoppingTurn(campaign.pk, campaign.domain_id or 0, lane=lane)
            )

        work = Work(Lane(run))
        self.works.append(work)
        work.go_on(self)
        self.tidy()

    def send(self, campaign: Campaign, *, stops: int, lost: bool) -> None:
        """Let a worker go on for some stops, then die; with enough of them it settles its batch."""
        self.claim(campaign)
        works = self.works[-1:]
        for _ in range(stops):
            if works and works[0] in self.works:
                self.go_on(works[0], lost=lost)
        if works and works[0] in self.works:
            self.kill(works[0])

    def lose_a_call(self, *, taken: bool) -> None:
        """Let a worker die while its call is open."""
        self.claim(self.campaigns[0])
        work = self.works[-1]
        while work.lane.at != CALLING:
            self.go_on(work)
        if taken:
            self.post.take(work.lane.about)
        self.kill(work)

    def go_on(self, work: Work, *, kind: Kind = Kind.SENT, lost: bool = False, times: int = 1) -> None:
        """Let a worker reach its next stop; a call is answered with `kind`, or taken or not without an answer."""
        lane = work.lane
        if lane.at == CALLING:
            self.answer(work, kind=kind, lost=lost)
        elif lane.at == ANSWERED:
            work.go_on(self, times)
        else:
            work.go_on(self)
        self.tidy()

    def answer(self, work: Work, *, kind: Kind, lost: bool) -> None:
        """Let the provider take or refuse a call, and the worker hear of it."""
        call: Call = work.lane.about
        if kind is Kind.RECIPIENT_FAILED and len(call.recipients) > 1:
            kind = Kind.SPLIT
        if kind is Kind.SENT:
            self.post.take(call)
        if kind in (Kind.SPLIT, Kind.RECIPIENT_FAILED) and len(call.recipients) == 1:
            self.refused.add(int(call.variables["rid"]))
        work.go_on(self, answer(Kind.UNKNOWN if lost else kind, call))

    def kill(self, work: Work) -> None:
        """Let a worker die where it stands."""
        self.works.remove(work)
        self.dead.append(work)

    def tidy(self) -> None:
        """Forget the workers that are done."""
        for work in [work for work in self.works if work.lane.at == "over"]:
            self.works.remove(work)
            work.lane.end()

    # Housekeeping and the resolver

    def keep_house(self) -> None:
        """Do what every worker does besides sending."""
        housekeeping.turn()
        self.note_owners()

    def take_snapshot(self) -> None:
        """Take two more people of a list."""
        housekeeping.take_snapshot(limit=2)
        self.note_owners()

    def note_owners(self) -> None:
        """Remember whom each recipient was made for."""
        new = Recipient.objects.exclude(pk__in=self.owners).values_list("pk", "contact_id")
        self.owners |= {recipient: contact for recipient, contact in new if contact is not None}

    def ask_log(self) -> None:
        """Ask the log about what is due."""
        resolver.turn(self.post)

    def ask_log_to_the_end(self) -> None:
        """Let leases run out, and ask the log until it has been asked often enough."""
        self.time_passes(timedelta(minutes=11))
        housekeeping.recover()
        self.time_passes(timedelta(minutes=61))
        while resolver.turn(self.post):
            pass

    def decide(self, *, as_sent: bool) -> None:
        """Let a person decide about what is held."""
        held = SendBatch.objects.filter(state="unknown", held_at__isnull=False).first()
        if held is not None:
            self.by_person.add(held.pk)
            resolver.settle_held(held.pk, as_sent=as_sent, by="ada")

    def time_passes(self, by: timedelta) -> None:
        """Move every moment in the books back; calls that have been open too long end without an answer."""
        self.now += by
        with connection.cursor() as cursor:
            cursor.execute(moved_back(), {"by": str(by)})
        for work in list(self.works):
            if work.lane.at == CALLING and self.now - work.called_at >= CALL_TIMEOUT:
                work.go_on(self, answer(Kind.UNKNOWN, work.lane.about))

    # The world outside

    def overtaken(self) -> list[Taken]:
        """Return the mails that were taken, and of which the books say that they wait or are being sent."""
        if not self.post.taken:
            return []
        waiting = Recipient.objects.filter(status__in=["pending", "sending", "unknown"])
        open_now = set(waiting.values_list("pk", flat=True))
        return [mail for mail in self.post.taken if mail.recipient in open_now]

    def event(self, mail: Taken, kind: EventType, *, bare: bool) -> None:
        """Let the provider report about a mail it took; `bare` as delayed bounces are, without our variables."""
        event = ProviderEvent(
            provider="mailgun",
            domain="mg.example.com",
            event_id=uuid4().hex,
            type=kind,
            occurred_at=db.now(),
            address=mail.address,
            payload={},
            batch=mail.batch,
            recipient=None if bare else mail.recipient,
            message_id=f"{mail.batch}@mg.example.com",
        )
        self.tell(event)

    def tell(self, event: ProviderEvent) -> None:
        """Let an event come in, for the first time or again."""
        self.told.append(event)
        events.ingest(event, source=Event.Source.WEBHOOK)
        if event.type in (EventType.BOUNCED, EventType.COMPLAINED, EventType.UNSUBSCRIBED):
            self.gone.add(event.address)

    def leave(self, contact: Contact) -> None:
        """Let a person click on their link."""
        if contacts.unsubscribe(contact.unsubscribe_token, source="link") is not None:
            self.gone.add(contact.email)

    def delete(self, contact: Contact) -> None:
        """Forget a person."""
        Contact.objects.filter(pk=contact.pk).delete()
        self.gone.add(contact.email)

    def close(self) -> None:
        """Give every thread up."""
        for work in (*self.works, *self.dead):
            work.lane.end()


@cache
def moved_back() -> str:
    """Return the statements that move every moment of the queue's tables back."""
    statements = []
    for model in (Campaign, Recipient, SendBatch, SenderDomain, Stream):
        moments = [item.column for item in model._meta.fields if isinstance(item, models.DateTimeField)]
        if moments:
            changes = ", ".join(f"{column} = {column} - %(by)s::interval" for column in moments)
            statements.append(f"UPDATE {model._meta.db_table} SET {changes}")
    return ";".join(statements)


def attempt(act: Callable[[], object]) -> None:
    """Do what a person may try at any time; a clear refusal is fine."""
    try:
        act()
    except UserError:
        return
