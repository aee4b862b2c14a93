"""Erasing a person from the command line."""

import getpass
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from events import erasing
from mailkoenig.lib.addresses import InvalidAddress
from mailkoenig.lib.command import UserError


class Command(BaseCommand):
    help = (
        "Erase a person for good: the contact, messages and events, and the name in what campaigns sent. The numbers of "
        "campaigns stay. If the address was suppressed it stays so, as a hash that nobody can read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("address", help="whom to erase, such as ada@example.com")
        parser.add_argument("--no-input", action="store_true", help="do not ask first")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["no_input"]:
            answer = input(f"Erase {options['address']} for good? This can't be taken back. [y/N] ")
            if answer.strip().lower() not in ("y", "yes"):
                raise UserError("Nothing was erased.")
        try:
            erased = erasing.erase(options["address"], by=f"{getpass.getuser()} on the command line")
        except InvalidAddress as error:
            raise UserError(f"{options['address']!r} is not an address: {error}") from error
        if options["json"]:
            self.stdout.write(json.dumps(erased._asdict()))
            return
        if not any(erased):
            self.stdout.write("Nothing here names this address.")
            return
        parts = (f"{number:,} {name}" for name, number in erased._asdict().items())
        self.stdout.write(f"Erased: {', '.join(parts)}.")
