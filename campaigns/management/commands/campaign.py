"""Campaigns from the command line."""

import json
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from campaigns import reports, services
from campaigns.models import Campaign
from mailkoenig.lib.command import UserError

NEXT = {
    "draft": "send it with: manage.py campaign send {id}",
    "scheduled": "it starts by itself at {at}",
    "sending": "a worker sends it: manage.py run_sender",
    "paused": "go on with: manage.py campaign resume {id}",
    "sent": "nobody is left to send to",
    "cancelled": "it is over; who had not got it does not get it",
}


class Command(BaseCommand):
    help = "Show, send, pause, resume or cancel a campaign, or list the people whose outcome is not known."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["status", "send", "pause", "resume", "cancel", "unknowns"])
        parser.add_argument("id", type=int, help="the campaign's number, as the admin shows it")
        parser.add_argument(
            "--at", metavar="ISO", help="send: at this moment instead of now, such as 2027-03-29T09:00"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        campaign = Campaign.objects.filter(pk=options["id"]).first()
        if campaign is None:
            raise UserError(f"There is no campaign {options['id']}: look in the admin for its number.")
        if options["at"] and options["action"] != "send":
            raise UserError("--at goes with send only: leave it out.")
        match options["action"]:
            case "send" if options["at"]:
                services.schedule(campaign, at=moment(options["at"]))
            case "send":
                services.start(campaign)
            case "pause":
                services.pause(campaign)
            case "resume":
                services.resume(campaign)
            case "cancel":
                services.cancel(campaign)
            case "unknowns":
                self.show_unknowns(campaign, as_json=options["json"])
                return
        self.show(campaign, as_json=options["json"])

    def show(self, campaign: Campaign, *, as_json: bool) -> None:
        counts = reports.counts(campaign.pk)
        if as_json:
            self.stdout.write(
                json.dumps(
                    {
                        "id": campaign.pk,
                        "status": campaign.status,
                        "reason": campaign.status_reason,
                        "counts": counts,
                    }
                )
            )
            return
        self.stdout.write(
            f"{campaign.name}: {campaign.status}{f' ({campaign.status_reason})' if campaign.status_reason else ''}"
        )
        for status, people in counts.items():
            if people:
                self.stdout.write(f"  {status:<13}{people:>10,}")
        self.stdout.write(
            NEXT[campaign.status].format(
                id=campaign.pk, at=campaign.scheduled_at and timezone.localtime(campaign.scheduled_at)
            )
        )

    def show_unknowns(self, campaign: Campaign, *, as_json: bool) -> None:
        batches = reports.unknown_batches(campaign.pk)
        if as_json:
            self.stdout.write(
                json.dumps(
                    {"id": campaign.pk, "batches": [{**b._asdict(), "since": str(b.since)} for b in batches]}
                )
            )
            return
        if not batches:
            self.stdout.write("There is no unclear outcome in this campaign.")
        for batch in batches:
            self.stdout.write(
                f"{batch.batch}  since {batch.since:%Y-%m-%d %H:%M:%S %Z}  {batch.people:>6,} people  {batch.answer}"
            )


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
