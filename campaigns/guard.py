"""Guard rails: a campaign that goes to too many dead addresses, or that too many call spam, stops by itself."""

import logging
import math
from datetime import timedelta
from time import monotonic
from typing import NamedTuple

from django.conf import settings
from django.db import transaction

from campaigns.models import Campaign
from campaigns.sql import guard
from mailkoenig.lib import audit

logger = logging.getLogger(__name__)

LOOK_EVERY = timedelta(seconds=10)
# Counting may take at most one part in this many of the time, however large a campaign is.
SHARE = 20


class Rails(NamedTuple):
    """How much is too much, as parts of one, and from how many results on that is judged."""

    after: int
    bounces: float
    complaints: float
    complaints_warning: float


class Breach(NamedTuple):
    """A rate that is too high; `stops` is False where it is only worth a look."""

    kind: str
    stops: bool
    text: str


def rails() -> Rails:
    """Return the guard rails that are set."""
    return Rails(
        after=settings.GUARD_AFTER_RESULTS,
        bounces=settings.GUARD_BOUNCES,
        complaints=settings.GUARD_COMPLAINTS,
        complaints_warning=settings.GUARD_COMPLAINTS_WARNING,
    )


def breaches(*, results: int, bounces: int, complaints: int, rails: Rails) -> list[Breach]:
    """Judge what came back of a campaign."""
    if results < rails.after:
        return []
    found = []
    if bounces > rails.bounces * results:
        words = said(bounces, results, "are dead addresses", limit=rails.bounces)
        found.append(Breach("bounces", True, words))
    if complaints > rails.complaints * results:
        words = said(complaints, results, "are complaints", limit=rails.complaints)
        found.append(Breach("complaints", True, words))
    elif complaints > rails.complaints_warning * results:
        words = said(complaints, results, "are complaints", limit=rails.complaints_warning)
        found.append(Breach("complaints", False, words))
    return found


def said(count: int, results: int, what: str, *, limit: float) -> str:
    """Write a rate with its base."""
    return f"{count:,} of {results:,} results ({100 * count / results:.1f} %) {what}, more than {100 * limit:g} %."


def breaches_of(campaign: guard.Judged) -> list[Breach]:
    """Judge a campaign by what was counted of it last."""
    return breaches(
        results=campaign.results, bounces=campaign.bounces, complaints=campaign.complaints, rails=rails()
    )


def refresh(*, wait: timedelta = LOOK_EVERY) -> None:
    """Count what came back of the campaigns that nobody has looked at for a while."""
    if campaigns := guard.turn(wait=wait):
        for found in guard.bad(campaigns):
            count(found)


def count(found: guard.Bad) -> None:
    """Count a campaign's results as far as they are needed to judge it."""
    limits = rails()
    is_known = found.counted >= limits.after or not (found.bounces or found.complaints)
    if is_known and (found.bounces, found.complaints) == (found.counted_bounces, found.counted_complaints):
        # Only good results can have come since, so that nothing is worse than it was.
        return
    enough = max(limits.after, found.bounces / limits.bounces, found.complaints / limits.complaints_warning)
    results = guard.results(found.campaign, since=found.resumed_at, enough=math.ceil(enough) + 1)
    guard.count(
        found.campaign,
        resumed_at=found.resumed_at,
        results=results,
        bounces=found.bounces,
        complaints=found.complaints,
    )


def stop() -> int:
    """Pause the campaigns that are over a guard rail; return how many there were."""
    stopped = 0
    for campaign in guard.judged():
        broken = [breach.text for breach in breaches_of(campaign) if breach.stops]
        if campaign.status != "sending" or not broken:
            continue
        reason = (
            f"Paused by a guard rail: {' '.join(broken)} Look at where its lists come from before you resume it: "
            "then only what is accepted from then on is judged."
        )
        with transaction.atomic():
            if not guard.pause(campaign, reason=reason):
                continue
            row = Campaign(pk=campaign.id, name=campaign.name)
            audit.note(on=row, what=f"Paused: {reason}", by=audit.WORKER)
        stopped += 1
        logger.warning("guard rail reached", extra={"campaign": campaign.id, "why": " ".join(broken)})
    return stopped


class Watch:
    """Looks after the campaigns of a worker's database, less often where that takes long."""

    def __init__(self) -> None:
        self.wait = LOOK_EVERY

    def look(self) -> None:
        """Count, and stop what has to be stopped."""
        started = monotonic()
        refresh(wait=self.wait)
        stop()
        self.wait = max(LOOK_EVERY, timedelta(seconds=SHARE * (monotonic() - started)))
