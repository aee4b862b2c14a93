"""What keeps the queue moving, each step small and safe to run in several workers at once."""

import logging
from collections import Counter
from datetime import timedelta
from random import random

from django.conf import settings
from django.db import transaction

from campaigns import policy, resolver
from campaigns.models import Campaign, SendBatch
from campaigns.sql import jobs, messages, queue, recovery, snapshot, tallies
from mailkoenig.lib import audit

logger = logging.getLogger(__name__)


def recover() -> bool:
    """Settle what dead workers left behind; True when there was any.

    1. A call that never began: its people are ready again, or failed when that has happened too often.
    2. A call that may have begun: nobody knows; its people wait until that is settled.
    """
    with transaction.atomic():
        left = recovery.stale()
        for stale in left:
            if stale.state == SendBatch.State.LEASED:
                reason = f"Worker {stale.worker} stopped before the call."
                after = policy.backoff(1, dice=random())  # noqa: S311 - spreads load, guards nothing
                jobs.of(stale.campaign).give_back(batch=stale.batch, reason=reason, after=after, refund=0)
                queue.close(batch=stale.batch, state=SendBatch.State.RETURNED, answer=reason)
            else:
                reason = f"Worker {stale.worker} stopped during the call."
                resolver.note_unknown(stale.batch, jobs.of(stale.campaign), reason=reason, lost_worker=True)
            logger.warning(
                "lease ran out", extra={"batch": stale.batch, "state": stale.state, "holder": stale.worker}
            )
        for stream, times in sorted(Counter(stale.stream for stale in left).items()):
            tallies.count("lease_expired", stream=stream, times=times)
    return bool(left)


def activate() -> bool:
    """Start the campaigns whose time has come; True when there were any."""
    with transaction.atomic():
        started = recovery.activate(grace=timedelta(seconds=settings.SCHEDULE_GRACE))
        for campaign in started:
            what = "Started as scheduled." if campaign.status == "sending" else "Paused: it missed its time."
            audit.note(on=Campaign(pk=campaign.id, name=campaign.name), what=what, by=audit.WORKER)
        for campaign in recovery.use_shared_domain():
            if campaign.status == "paused":
                what = "Paused: it has no sender domain and none is shared."
                audit.note(on=Campaign(pk=campaign.id, name=campaign.name), what=what, by=audit.WORKER)
    recovery.lift_limits()
    for campaign in started:
        logger.info("schedule is due", extra={"campaign": campaign.id, "status": campaign.status})
    return bool(started)


def take_snapshot(*, limit: int = snapshot.CHUNK) -> bool:
    """Add the next chunk of people to a campaign that has begun; False when every snapshot is complete."""
    with transaction.atomic():
        at = snapshot.unfinished()
        if at is None:
            return False
        list_id = at.list or snapshot.next_list(campaign=at.campaign, after=0)
        if list_id is None:
            snapshot.finish(at.campaign)
            return True
        chunk = snapshot.take(campaign=at.campaign, list_id=list_id, after=at.contact, limit=limit)
        is_end_of_list = chunk.members < limit
        if not is_end_of_list and chunk.last is not None:
            snapshot.advance(campaign=at.campaign, list_id=list_id, contact=chunk.last)
        elif following := snapshot.next_list(campaign=at.campaign, after=list_id):
            snapshot.advance(campaign=at.campaign, list_id=following, contact=0)
        else:
            snapshot.finish(at.campaign)
    # At the beginning and at the end of a list only, as it reads as long for that as a chunk takes.
    is_long_list = at.contact > 0 or chunk.taken >= snapshot.WORTH_ANALYZING
    if is_long_list and (at.contact == 0 or is_end_of_list):
        snapshot.analyze()
    return True


def expire() -> bool:
    """End messages that waited for too long; True when there were any."""
    expired = messages.expire()
    if expired:
        logger.warning("messages expired", extra={"messages": expired})
    return bool(expired)


def complete() -> bool:
    """End the campaigns that have nobody left; True when there were any."""
    done = recovery.complete()
    for campaign in done:
        logger.info("campaign sent", extra={"campaign": campaign})
    return bool(done)


def turn() -> bool:
    """Do one round of all of it; True when something was done and the next round should follow at once."""
    # Every step runs, whatever the one before it found.
    return any([recover(), activate(), take_snapshot(), expire(), complete()])
