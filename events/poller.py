"""Reads the provider's log again and again, so that what no webhook brought is known all the same.

Each domain has a cursor. A reading covers everything from some time before the last one up to its own beginning, oldest
first; the log shows events late and out of order, so windows overlap and what is known already is passed over. A worker
holds a cursor by a lease; one that dies in the middle is followed by another from the page it had come to.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import DataError, IntegrityError

from events import sql
from events import sql_cursors as cursors
from events.models import Event
from events.services import ingest, ingest_acceptances
from mailkoenig.lib import db
from mailkoenig.lib.storable import NotStorable, storable
from mailkoenig.providers.mailgun import payload
from mailkoenig.providers.mailgun.log import LogUnreadable, MailgunLog
from mailkoenig.providers.types import EventType, ProviderEvent

logger = logging.getLogger(__name__)

# After so many pages of 300 another log has its turn.
PAGES = 20
FURTHEST = timedelta(days=1)
LONGEST_WAIT = timedelta(hours=1)


def missing() -> str:
    """Say why the log is not read at all; empty when it is."""
    if not settings.EVENTS_POLL_EVERY:
        return "EVENTS_POLL_EVERY is 0"
    if not settings.MAILGUN_API_KEY:
        return "MAILGUN_API_KEY is not set"
    return ""


def every() -> timedelta:
    """Return the time from one reading of a log to the next."""
    return timedelta(seconds=settings.EVENTS_POLL_EVERY)


def guard() -> timedelta:
    """Return how long a lease lasts: longer than a page takes to read and to record."""
    return timedelta(seconds=2 * settings.MAILGUN_CALL_TIMEOUT + 30)


def turn(log: MailgunLog, *, pages: int = PAGES) -> bool:
    """Read about so many pages of the log that is due longest; False when none is due."""
    cursors.add(furthest=FURTHEST)
    overlap = timedelta(seconds=settings.EVENTS_POLL_OVERLAP)
    reading = cursors.take(lease=uuid4(), guard=guard(), overlap=overlap)
    if reading is None:
        return False
    try:
        new = read(log, reading, most=pages)
    except LogUnreadable as error:
        put_off(reading, str(error))
    else:
        logger.log(
            logging.INFO if new else logging.DEBUG,
            "log read",
            extra={"domain": reading.domain, "new": new, "begin": reading.begin},
        )
    return True


def catch_up(log: MailgunLog, *, wait: Callable[[float], object]) -> list[cursors.Behind]:
    """Read every log up to now, with whoever reads already; return those that can't be read, and why."""
    moment = db.now()
    cursors.add(furthest=FURTHEST)
    cursors.hurry(moment, anew=True)
    while is_still_to_be_read(left := cursors.behind(moment)):
        if not turn(log):
            wait(0.2)
            cursors.hurry(moment, anew=False)
    return left


def is_still_to_be_read(left: Sequence[cursors.Behind]) -> bool:
    """Say whether a log may yet be read that is behind."""
    return not all(unread.finding for unread in left)


def read(log: MailgunLog, reading: cursors.Reading, *, most: int) -> int:
    """Record about so many pages and note how far that came, or that all is read; return how many events were new."""
    new, position = 0, reading.begin
    # More where many events happened at one moment: the next turn begins at a moment, so this one must get beyond it.
    pages = log.pages(reading.domain, begin=reading.begin, most=10 * most)
    for number, items in enumerate(pages, start=1):
        found = events(items, domain=reading.domain)
        new += record([event for event, _ in found])
        position = max([position, *(moment for _, moment in found if moment)])
        if not items or position >= reading.end:
            break
        if not cursors.advance(lease=reading.lease, position=position, guard=guard()):
            return new  # it took too long, and another worker goes on
        if number >= most and position > reading.begin:
            cursors.release(reading.lease)
            return new
    cursors.finish(lease=reading.lease, after=every())
    return new


def events(items: Sequence[dict[str, Any]], *, domain: str) -> list[tuple[ProviderEvent, datetime | None]]:
    """Return a page in our words, without what can't be stored, and when each happened where it says so."""
    found, now = list[tuple[ProviderEvent, datetime | None]](), db.now()
    for item in items:
        try:
            clean = storable(item)
        except NotStorable as error:
            logger.warning("event of the log not storable", extra={"domain": domain, "cause": str(error)})
            continue
        if isinstance(clean, dict):
            event = payload.event(clean, received_at=now, domain=domain)
            found.append((event, event.occurred_at if event.occurred_at != now else None))
    return found


def record(found: Sequence[ProviderEvent]) -> int:
    """Take what is not known yet through the same door as a webhook; return how many there were."""
    fresh = sql.unknown(found)
    acceptances = [event for event in fresh if event.type is EventType.ACCEPTED]
    others = [event for event in fresh if event.type is not EventType.ACCEPTED]
    # A log holds one for each mail that ever left, and hardly any of them says something new.
    for event in [*ingest_acceptances(acceptances, source=Event.Source.POLL), *others]:
        try:
            ingest(event, source=Event.Source.POLL)
        except (DataError, IntegrityError):
            # It would fail again each time, and everything behind it would wait.
            logger.exception("event of the log can't be recorded", extra={"event": event.event_id})
    return len(fresh)


def put_off(reading: cursors.Reading, finding: str) -> None:
    """Try later, and say why once."""
    before = cursors.put_off(lease=reading.lease, finding=finding, after=every(), longest=LONGEST_WAIT)
    if before is not None and before != finding:
        logger.warning("log can't be read", extra={"domain": reading.domain, "finding": finding})
