"""Is anything wrong?"""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from mailkoenig.lib.command import UserError
from mailkoenig.monitoring import alerts


class Command(BaseCommand):
    help = (
        "Say what is wrong and exit 1, or say that nothing is and exit 0. Workers look by themselves every ALERTS_EVERY "
        "seconds; with --notify this does the same, for hosts where no worker may be alive."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--notify",
            action="store_true",
            help="tell ADMINS and the webhook what has begun and what is over, each once",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        found = alerts.check(notify=options["notify"])
        if options["json"]:
            self.stdout.write(
                json.dumps({"ok": not found, "alerts": [one._asdict() for one in found]}, default=str)
            )
        else:
            for one in found:
                self.stdout.write(f"{one.severity}: {one.summary}")
        if found:
            about = ", ".join(
                f"{one.kind} ({one.subject or ', '.join(one.details['streams'])})" for one in found
            )
            raise UserError(f"{len(found)} {'thing is' if len(found) == 1 else 'things are'} wrong: {about}.")
        if not options["json"]:
            self.stdout.write("All is well: nothing is stuck, silent, paused or unknown for too long.")
