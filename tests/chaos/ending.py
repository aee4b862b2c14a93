"""Faults end, time goes on, and nobody may be left waiting."""

from datetime import timedelta

from campaigns import housekeeping, resolver, services
from campaigns.models import Campaign, SendBatch, Stream
from campaigns.sql import queue
from tests.chaos.world import GOOD, World

HOURS = 12


def drain(world: World) -> None:
    """Let everything that is open come to its end."""
    world.post.log = "open"
    Stream.objects.filter(name="campaigns").update(
        paused=False, batch_size=1000, max_attempts=5, concurrency=16, rate_per_minute=None
    )
    for domain in world.domains:
        services.resume_domain(domain)
    Campaign.objects.update(body=GOOD.format(99))
    world.resume_all()
    for _ in range(HOURS):
        if world.works or Campaign.objects.filter(status="sending").exists():
            go_round(world)
    housekeeping.turn()


def go_round(world: World) -> None:
    """Do everything that a worker and a person would do within an hour."""
    while world.works:
        world.go_on(world.works[0])
    # A worker that had read the broken words before they were mended has paused it again.
    world.resume_all()
    while SendBatch.objects.filter(state="unknown", held_at__isnull=False).exists():
        world.decide(as_sent=True)
    while housekeeping.turn():
        pass
    world.note_owners()
    while resolver.turn(world.post):
        pass
    for found in queue.ready():
        world.claim(Campaign.objects.get(pk=found.campaign))
    world.time_passes(timedelta(hours=1))
