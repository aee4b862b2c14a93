"""`make demo`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console

from mailkoenig.rehearsal.demo import Demo, close, data_folder


class Command(BaseCommand):
    help = (
        "Import made-up people from a CSV, send them a campaign through a simulated Mailgun, take its events back, "
        "and compare the books. Nothing leaves this machine."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--recipients", type=people, default=5_000, metavar="N", help="how many people (5,000)"
        )
        parser.add_argument(
            "--exit", action="store_true", help="end after the table: 0 only if the books balance"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        demo = Demo(console=Console(soft_wrap=True), recipients=options["recipients"], data=data_folder())
        try:
            demo.run(leave=options["exit"])
        except KeyboardInterrupt:
            self.stdout.write("\nThe demo has ended.")
        finally:
            close()


def people(text: str) -> int:
    """Read how many people: 1 to 1,000,000."""
    number = int(text)
    if not 1 <= number <= 1_000_000:
        raise ValueError
    return number
