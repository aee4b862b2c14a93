"""Campaigns from the command line."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from campaigns import progress, reports, resolver, services
from campaigns.models import Campaign, Recipient
from mailkoenig.lib.command import UserError, operator
from mailkoenig.lib.counting import many
from mailkoenig.monitoring import overview

NEXT = {
    "draft": "send it with: manage.py campaign send {id}",
    "scheduled": "it starts by itself at {at}",
    "sending": "a worker sends it; hold it with: manage.py campaign pause {id}",
    "paused": "go on with: manage.py campaign resume {id}",
    "sent": "nobody is left to send to",
    "cancelled": "it is over; who had not got it does not get it",
}
NO_WORKER = "no worker is alive that would send it; start one with: manage.py run_sender"
WAITS = "it goes on when that is over; hold it with: manage.py campaign pause {id}"


class Command(BaseCommand):
    help = "Show, send, pause, resume or cancel a campaign, or list the people whose outcome is not known."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["status", "send", "pause", "resume", "cancel", "unknowns"])
        parser.add_argument("id", type=int, help="the campaign's number, as the admin shows it")
        parser.add_argument(
            "--at", metavar="ISO", help="send: at this moment instead of now, such as 2027-03-29T09:00"
        )
        parser.add_argument(
            "--settle",
            choices=["sent", "resend"],
            help="unknowns: decide what is held: count it as sent, or send it again",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        campaign = Campaign.objects.filter(pk=options["id"]).first()
        if campaign is None:
            raise UserError(f"There is no campaign {options['id']}: look in the admin for its number.")
        if options["at"] and options["action"] != "send":
            raise UserError("--at goes with send only: leave it out.")
        if options["settle"] and options["action"] != "unknowns":
            raise UserError("--settle goes with unknowns only: leave it out.")
        match options["action"]:
            case "send" if options["at"]:
                services.schedule(campaign, at=moment(options["at"]), by=operator())
            case "send":
                services.start(campaign, by=operator())
            case "pause":
                services.pause(campaign, by=operator())
            case "resume":
                services.resume(campaign, by=operator())
            case "cancel":
                services.cancel(campaign, by=operator())
            case "unknowns":
                if options["settle"]:
                    self.settle(campaign, as_sent=options["settle"] == "sent")
                self.show_unknowns(campaign, as_json=options["json"])
                return
        self.show(campaign, as_json=options["json"])

    def show(self, campaign: Campaign, *, as_json: bool) -> None:
        at = progress.look(campaign.pk)
        waits = [wait for wait in progress.waits(campaign, at=at) if wait.kind != "campaign"]
        if as_json:
            self.stdout.write(
                json.dumps(
                    {
                        "id": campaign.pk,
                        "status": campaign.status,
                        "reason": campaign.status_reason,
                        "counts": at.numbers.by_status,
                        "waits": [wait._asdict() for wait in waits],
                    }
                )
            )
            return
        self.stdout.write(
            f"{campaign.name}: {campaign.status}{f' ({campaign.status_reason})' if campaign.status_reason else ''}"
        )
        for status in Recipient.Status:
            if people := at.numbers.by_status[status]:
                self.stdout.write(f"  {word(status):<13}{people:>10,}")
        for wait in waits:
            self.stdout.write(wait.text)
        self.stdout.write(next_step(campaign, waits=waits))

    def settle(self, campaign: Campaign, *, as_sent: bool) -> None:
        held = [batch for batch in reports.unknown_batches(campaign.pk) if batch.is_held]
        if not held:
            raise UserError(
                "No outcome of this campaign waits for a decision: the provider's log is still being asked, or all is settled."
            )
        for batch in held:
            resolver.settle_held(UUID(batch.batch), as_sent=as_sent, by=operator())

    def show_unknowns(self, campaign: Campaign, *, as_json: bool) -> None:
        batches = reports.unknown_batches(campaign.pk)
        people = list(at_risk(campaign.pk))
        if as_json:
            self.stdout.write(
                json.dumps(
                    {
                        "id": campaign.pk,
                        "batches": [batch._asdict() for batch in batches],
                        "recipients": [person._asdict() for person in people],
                    },
                    default=str,
                )
            )
            return
        for batch in batches:
            self.stdout.write(
                f"{many(batch.people, 'person', 'people')} unclear since {timezone.localtime(batch.since):%Y-%m-%d %H:%M:%S %Z}: {batch.answer}"
            )
            self.stdout.write(f"  batch {batch.batch}; {batch.standing()}")
        for person in people:
            self.stdout.write(f"  {word(Recipient.Status(person.status)):<10} {person.email}")
        if not people:
            self.stdout.write("Nobody in this campaign may have got it twice or not at all.")
        elif any(batch.is_held for batch in batches):
            self.stdout.write(
                f"Decide with: manage.py campaign unknowns {campaign.pk} --settle sent (or resend)"
            )


def word(status: Recipient.Status) -> str:
    """Return a state in the word that every page has for it."""
    return str(status.label).lower()


def next_step(campaign: Campaign, *, waits: Sequence[progress.Wait]) -> str:
    """Return what happens next, or what to do."""
    step = NEXT[campaign.status]
    if campaign.status == Campaign.Status.SENDING:
        is_served = any(worker.is_alive and worker.serves("campaigns") for worker in overview.workers())
        step = (WAITS if waits else step) if is_served else NO_WORKER
    at = campaign.scheduled_at and timezone.localtime(campaign.scheduled_at)
    return step.format(id=campaign.pk, at=at)


def at_risk(campaign: int) -> Iterator[reports.AtRisk]:
    """Yield everybody whose outcome was never cleared up, a page at a time."""
    after = 0
    while page := reports.at_risk(campaign, after=after):
        yield from page
        after = page[-1].id


def moment(text: str) -> datetime:
    """Read a moment in the site's time zone, where the text names none."""
    try:
        at = parse_datetime(text)
    except ValueError:
        at = None
    if at is None:
        raise UserError(
            f"--at {text!r} is not a moment: write it like 2027-03-29T09:00 or 2027-03-29T09:00+02:00."
        )
    if not timezone.is_naive(at):
        return at
    aware = timezone.make_aware(at)
    if timezone.make_naive(aware.astimezone(UTC)) != at:
        raise UserError(
            f"{text} does not exist in {timezone.get_current_timezone_name()}: the clocks change then."
        )
    return aware
