"""What may happen next, how often, and when it can: each step draws its details from the dice it is given."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from random import Random
from typing import NamedTuple

from campaigns import services
from campaigns.models import SendBatch, SenderDomain, Stream
from mailkoenig.providers.types import EventType, Kind
from tests.chaos.world import World

EVENTS = (
    EventType.ACCEPTED,
    EventType.DELIVERED,
    EventType.DEFERRED,
    EventType.OPENED,
    EventType.BOUNCED,
    EventType.COMPLAINED,
    EventType.REJECTED,
    EventType.SUPPRESSED,
)
PASSING = (6, 6, 71, 601, 1801, 3601)
MOST_WORKERS = 3
MOST_CAMPAIGNS = 3
MOST_GONE = 3


def claim(world: World, dice: Random) -> None:
    """A worker takes a batch, and stands still before the call."""
    world.claim(dice.choice(world.campaigns))


def send(world: World, dice: Random) -> None:
    """A worker takes a batch, gets so far with it, and dies there unless it is done."""
    world.send(dice.choice(world.campaigns), stops=dice.randint(1, 4), lost=dice.random() < 0.5)


def go_on(world: World, dice: Random) -> None:
    """A worker goes on, and all is well."""
    world.go_on(dice.choice(world.works))


def meet_a_fault(world: World, dice: Random) -> None:
    """A worker goes on; its call is answered somehow, its commit perhaps tried twice."""
    world.go_on(
        dice.choice(world.works),
        kind=dice.choice(list(Kind)),
        lost=dice.random() < 0.3,
        times=dice.randint(1, 2),
    )


def kill(world: World, dice: Random) -> None:
    """A worker dies where it stands."""
    world.kill(dice.choice(world.works))


def keep_house(world: World, dice: Random) -> None:
    """Leases are looked at, snapshots go on, campaigns end."""
    dice.choice([world.keep_house, world.take_snapshot])()


def time_passes(world: World, dice: Random) -> None:
    """Nothing happens for a while."""
    world.time_passes(timedelta(seconds=dice.choice(PASSING)))


def ask_log(world: World, dice: Random) -> None:
    """The log is asked once, or as often as it takes."""
    dice.choice([world.ask_log, world.ask_log_to_the_end])()


def change_log(world: World, dice: Random) -> None:
    """The provider's log goes blind or away, or comes back."""
    world.post.log = dice.choice(["open", "open", "blind", "down"])


def event(world: World, dice: Random) -> None:
    """The provider reports about any mail that it took."""
    world.event(dice.choice(world.post.taken), dice.choice(EVENTS), bare=dice.random() < 0.3)


def event_of_a_lost_call(world: World, dice: Random) -> None:
    """The provider reports about a mail that the books know nothing of."""
    world.event(dice.choice(world.overtaken()), dice.choice(EVENTS), bare=dice.random() < 0.3)


def event_again(world: World, dice: Random) -> None:
    """An event comes a second time."""
    world.tell(dice.choice(world.told))


def lose_a_reader(world: World, dice: Random) -> None:
    """Somebody leaves, or is deleted."""
    dice.choice([world.leave, world.delete])(dice.choice(world.contacts))


def start_campaign(world: World, dice: Random) -> None:
    """Another campaign goes out."""
    world.start_campaign(lists=dice.randint(1, 2), domain=dice.randint(0, 1))


def act(world: World, dice: Random) -> None:
    """An author stops a campaign or lets it go on."""
    world.act(dice.choice(world.campaigns), dice.choice(["pause", "pause", "resume", "cancel"]))


def resume(world: World, dice: Random) -> None:
    """Whoever finds something stopped lets it go on."""
    world.resume_all()
    services.resume_domain(dice.choice(world.domains))
    Stream.objects.filter(name="campaigns").update(paused=False)


def edit(world: World, dice: Random) -> None:
    """An author changes the words, perhaps to what can't be sent."""
    world.edit(dice.choice(world.campaigns), broken=dice.random() < 0.3)


def decide(world: World, dice: Random) -> None:
    """A person says what became of a held batch."""
    world.decide(as_sent=dice.random() < 0.5)


def change_stream(world: World, dice: Random) -> None:
    """Somebody changes the limits of all campaigns."""
    Stream.objects.filter(name="campaigns").update(
        batch_size=dice.randint(1, 4),
        max_attempts=dice.randint(1, 5),
        paused=dice.random() < 0.2,
        on_unknown=dice.choice(["resend", "hold"]),
        concurrency=dice.choice([1, 2, 16]),
        rate_per_minute=dice.choice([None, None, 3, 6]),
    )


def change_domain(world: World, dice: Random) -> None:
    """Somebody stops a domain or lowers its limit."""
    domain = dice.choice(world.domains)
    if dice.random() < 0.5:
        services.pause_domain(domain, reason="A person looks into it.")
    else:
        SenderDomain.objects.filter(pk=domain.pk).update(batch_limit=dice.randint(1, 2))


class Step(NamedTuple):
    """How likely a step is beside the others, and when it can be done."""

    weight: int
    can: Callable[[World], object] = bool


def works(world: World) -> object:
    return world.works


STEPS: Mapping[Callable[[World, Random], None], Step] = {
    claim: Step(6, lambda world: len(world.works) < MOST_WORKERS),
    send: Step(4),
    go_on: Step(8, works),
    meet_a_fault: Step(4, works),
    kill: Step(2, works),
    keep_house: Step(3),
    time_passes: Step(4),
    ask_log: Step(3),
    change_log: Step(1),
    event: Step(3, lambda world: world.post.taken),
    event_of_a_lost_call: Step(3, World.overtaken),
    event_again: Step(1, lambda world: world.told),
    lose_a_reader: Step(2, lambda world: len(world.gone) < MOST_GONE),
    start_campaign: Step(1, lambda world: len(world.campaigns) < MOST_CAMPAIGNS),
    act: Step(1),
    resume: Step(4),
    edit: Step(1),
    decide: Step(2, lambda world: SendBatch.objects.filter(held_at__isnull=False).exists()),
    change_stream: Step(1),
    change_domain: Step(1),
}


def take(world: World, dice: Random) -> str:
    """Do one step that can be done, and return its name."""
    possible = list(STEPS)
    while True:
        step = dice.choices(possible, [STEPS[step].weight for step in possible])[0]
        if STEPS[step].can(world):
            step(world, dice)
            return step.__name__
        possible.remove(step)
