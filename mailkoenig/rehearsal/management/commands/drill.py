"""`manage.py drill`."""

import json
import signal
from argparse import RawDescriptionHelpFormatter
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console

from mailkoenig.rehearsal import drill
from mailkoenig.rehearsal.cases import CASES

EPILOG = "Cases:\n" + "\n".join(f"  {case.name:<20} {case.what}" for case in CASES.values())


class Command(BaseCommand):
    help = (
        "Break things on purpose and count: everybody gets the mail once, nobody twice, nobody is lost. Each case has\n"
        "a database of its own, dropped at the end, a simulated Mailgun whose count is the judge, and real worker\n"
        "processes. Nothing leaves this machine, and nothing of yours is touched. All cases take about three minutes on\n"
        "an idle machine; the logs of a case that fails are kept."
    )
    # Its processes have settings of their own.
    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, epilog=EPILOG, **kwargs)
        parser.formatter_class = RawDescriptionHelpFormatter
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--case",
            action="append",
            choices=list(CASES),
            metavar="NAME",
            help="play only this case (may be repeated)",
        )
        parser.add_argument(
            "--seed",
            type=int,
            default=0,
            metavar="N",
            help="where in a campaign it strikes; the same seed, the same place (0)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
        parser.add_argument("--list", action="store_true", help="name the cases and play none")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list"]:
            for case in CASES.values():
                self.stdout.write(f"{case.name:<20} {case.what}")
            return
        # As Ctrl-C: everything that was started ends, and the databases go.
        signal.signal(signal.SIGTERM, interrupt)
        console = Console(quiet=options["json"])
        verdicts: list[drill.Verdict] = []
        try:
            for verdict in drill.play(options["case"] or list(CASES), seed=options["seed"]):
                verdicts.append(verdict)
                drill.show(console, verdict)
        finally:
            if options["json"]:
                rows = [verdict._asdict() | {"seconds": round(verdict.seconds, 1)} for verdict in verdicts]
                self.stdout.write(json.dumps({"seed": options["seed"], "cases": rows}, indent=2))
            elif verdicts:
                console.print(drill.table(verdicts))


def interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
