"""Forget what is too old to be of use."""

from argparse import ArgumentTypeError
from datetime import timedelta
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from events import services


def days(text: str) -> int:
    """Read a number of days that is worth keeping."""
    if not text.isdigit() or not 1 <= int(text) <= 36_500:
        raise ArgumentTypeError(f"must be a whole number of days from 1 to 36500, not {text!r}")
    return int(text)


class Command(BaseCommand):
    help = (
        "Delete events that came in long ago, webhook tokens that can't be used any more, and expired sessions. "
        "Campaign figures and suppressions stay: they do not depend on the events. Safe to repeat and to interrupt."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--keep-days",
            type=days,
            default=365,
            metavar="DAYS",
            help="Keep events of this many days (default: 365).",
        )

    def handle(self, *args: Any, keep_days: int, **options: Any) -> None:
        events, tokens = services.prune(keep=timedelta(days=keep_days))
        call_command("clearsessions")
        self.stdout.write(
            f"Deleted {events:,} events older than {keep_days} days, {tokens:,} used webhook tokens and all expired sessions."
        )
