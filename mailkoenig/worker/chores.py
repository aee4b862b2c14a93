"""What a worker does beside sending, each in a thread of its own."""

import logging
import time
from collections.abc import Callable
from functools import partial

from django.conf import settings

from campaigns import guard, resolver, silence
from events import poller
from mailkoenig.monitoring import alerts
from mailkoenig.providers.mailgun.log import MailgunLog

logger = logging.getLogger(__name__)

Chore = Callable[[], bool]
LOOK_FOR_SILENCE_EVERY = 60.0
FORGET_ALERTS_EVERY = 3600.0


def chores() -> list[Chore]:
    """Return them; each says whether it had something to do and wants to go on at once."""
    return [
        partial(resolver.turn, MailgunLog()),
        listener(),
        watchman(),
    ]


def listener() -> Chore:
    """Return the chore that reads the provider's log for events, where that is set up, and warns of silent campaigns."""
    look = every(LOOK_FOR_SILENCE_EVERY, silence.Watch().look)
    if why := poller.missing():
        logger.warning("Mailgun's log is not read for events", extra={"because": why})
        return look
    log = MailgunLog()
    return lambda: look() or poller.turn(log)


def watchman() -> Chore:
    """Return the chore that looks after campaigns and tells what is wrong; one thread and connection for all of it."""
    rounds = (
        every(guard.LOOK_EVERY.total_seconds(), guard.Watch().look),
        every(settings.ALERTS_EVERY, partial(alerts.check, notify=True)),
        every(FORGET_ALERTS_EVERY, alerts.forget),
    )

    def go_round() -> bool:
        for look in rounds:
            look()
        return False

    return go_round


def every(seconds: float, act: Callable[[], object]) -> Chore:
    """Return a chore that does something at most every so many seconds."""
    done_at = float("-inf")

    def chore() -> bool:
        nonlocal done_at
        if time.monotonic() - done_at >= seconds:
            done_at = time.monotonic()
            act()
        return False

    return chore
