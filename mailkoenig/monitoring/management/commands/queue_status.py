"""How the queue stands."""

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.utils.timezone import localtime

from mailkoenig.monitoring import queries

ROW = "{:<18.18} {:<8} {:>10} {:>8} {:>8} {:>12}  {}"


class Command(BaseCommand):
    help = "Show what waits, what is under way, what is unclear, and why."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        notes = remarks()
        campaigns, streams = queries.campaigns_in_motion(), queries.streams()
        if options["json"]:
            found = {
                "notes": notes,
                "streams": [stream._asdict() for stream in streams],
                "campaigns": [campaign._asdict() for campaign in campaigns],
            }
            self.stdout.write(json.dumps(found, default=str))
            return
        for note in notes:
            self.stdout.write(f"! {note}")
        self.stdout.write(
            ROW.format("stream", "state", "batch size", "open", "unclear", "for a person", "why")
        )
        for stream in streams:
            state = "paused" if stream.paused else "running"
            self.stdout.write(
                ROW.format(
                    stream.name,
                    state,
                    stream.batch_size,
                    stream.open_batches,
                    stream.unclear_batches,
                    stream.held_batches,
                    stream.paused_reason,
                ).rstrip()
            )
        self.stdout.write("")
        self.stdout.write(
            ROW.format("campaign", "state", "ready", "leased", "unknown", "oldest ready", "waits for")
        )
        for campaign in campaigns:
            until = f" until {localtime(campaign.held_until):%H:%M:%S %Z}" if campaign.held_until else ""
            self.stdout.write(
                ROW.format(
                    f"{campaign.id} {campaign.name}",
                    campaign.status,
                    f"{campaign.ready:,}",
                    f"{campaign.leased:,}",
                    f"{campaign.unknown:,}",
                    age(campaign.oldest_ready),
                    f"{campaign.waits_for}{until}",
                ).rstrip()
            )
        if not campaigns:
            self.stdout.write(
                "No campaign is being sent. Start one in the admin, or with: manage.py campaign send ID"
            )


def remarks() -> list[str]:
    """Return what an operator should know before the numbers."""
    found = []
    if held := queries.held_after_restore():
        found.append(f"Nothing is sent: {held} See 'manage.py confirm_restore'.")
    if not settings.MAILGUN_API_KEY:
        found.append(
            "There is no account key (MAILGUN_API_KEY): Mailgun's log can't be asked about a send without a clear answer."
        )
    return found


def age(seconds: float | None) -> str:
    """Write an age as people read it."""
    if seconds is None:
        return "-"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
