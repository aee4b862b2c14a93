"""Forget what is too old to be of use."""

from argparse import ArgumentTypeError
from datetime import timedelta
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from campaigns import services as campaigns
from events import services
from mailkoenig.lib.counting import many


def days(text: str) -> int:
    """Read a number of days that is worth keeping."""
    if not text.isdigit() or not 1 <= int(text) <= 36_500:
        raise ArgumentTypeError(f"must be a whole number of days from 1 to 36500, not {text!r}")
    return int(text)


class Command(BaseCommand):
    help = (
        "Delete events that came in long ago, messages that are over with their attachments and calls, webhook tokens "
        "that can't be used any more, and expired sessions. Campaign figures, suppressions and the ledger of what was "
        "sent stay: no key is sent twice by it. Safe to repeat and to interrupt."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--keep-days",
            type=days,
            default=365,
            metavar="DAYS",
            help="Keep events of this many days (default: 365).",
        )
        parser.add_argument(
            "--keep-message-days",
            type=days,
            default=90,
            metavar="DAYS",
            help="Keep messages (receipts, password resets) of this many days, and what is not over yet (default: 90).",
        )
        parser.add_argument(
            "--keep-tally-days",
            type=days,
            default=30,
            metavar="DAYS",
            help="Keep counts by the minute of this many days, and older ones as sums (default: 30).",
        )

    def handle(
        self, *args: Any, keep_days: int, keep_message_days: int, keep_tally_days: int, **options: Any
    ) -> None:
        events, tokens = services.prune(keep=timedelta(days=keep_days))
        messages, calls = campaigns.prune_messages(keep=timedelta(days=keep_message_days))
        campaigns.fold_tallies(keep=timedelta(days=keep_tally_days))
        call_command("clearsessions")
        self.stdout.write(
            f"Deleted {many(events, 'event')} older than {many(keep_days, 'day')}, {many(messages, 'message')} older than "
            f"{many(keep_message_days, 'day')} with {many(calls, 'call')}, {many(tokens, 'used webhook token')} and all expired "
            "sessions."
        )
