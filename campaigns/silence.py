"""A campaign that nothing comes back of: said once, with what is likely wrong."""

import logging
from datetime import timedelta

from django.conf import settings

from campaigns import reports

logger = logging.getLogger(__name__)


def silent(campaign: int | None = None) -> list[reports.Silent]:
    """Return the campaigns of the last days, or the one asked for, that nothing was heard of within the usual time."""
    return reports.silent_campaigns(after=timedelta(seconds=settings.EVENTS_SILENCE_AFTER), campaign=campaign)


def cause(domain: str) -> str:
    """Say what is likely wrong and what to do, from what is set."""
    address = f"{settings.PUBLIC_URL}/webhooks/mailgun/"
    if settings.MAILGUN_WEBHOOK_SIGNING_KEYS:
        webhooks = (
            f"Most likely no webhooks are registered in Mailgun for {domain} with the address {address}, or "
            "MAILGUN_WEBHOOK_SIGNING_KEYS is not the HTTP webhook signing key of that account."
        )
    else:
        webhooks = (
            "MAILGUN_WEBHOOK_SIGNING_KEYS is not set, so every webhook is refused: set it to the account's HTTP webhook "
            f"signing key, and register webhooks in Mailgun for {domain} with the address {address}."
        )
    if not settings.MAILGUN_API_KEY:
        return f"{webhooks} Mailgun's log is not read either, as MAILGUN_API_KEY is not set."
    if not settings.EVENTS_POLL_EVERY:
        return f"{webhooks} Mailgun's log is not read either, as EVENTS_POLL_EVERY is 0."
    return f"{webhooks} Mailgun's log brought nothing either: the worker's log says why."


def words(campaign: int) -> str:
    """Return what to tell people who look at a campaign that nothing is heard of; empty where all is well."""
    for found in silent(campaign):
        return f"Nothing has come back since the first of it was accepted at {found.since:%Y-%m-%d %H:%M} UTC. {cause(found.domain)}"
    return ""


class Watch:
    """Warns of each silent campaign once in the life of a process."""

    def __init__(self) -> None:
        self.said: set[int] = set()

    def look(self) -> None:
        """Warn of those that are new."""
        for found in silent():
            if found.campaign not in self.said:
                self.said.add(found.campaign)
                logger.warning(
                    "nothing is heard of a campaign",
                    extra={
                        "campaign": found.campaign,
                        "since": found.since,
                        "batches": found.batches,
                        "likely": cause(found.domain),
                    },
                )
