"""Run the simulated Mailgun until it is told to stop."""

import signal
import threading
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from mailkoenig.lib.command import UserError
from mailkoenig.simulator import Simulator


class Command(BaseCommand):
    """Parse, start, wait, stop."""

    help = "Run a simulated Mailgun: it accepts mail, shows it in a browser and delivers nothing."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
        parser.add_argument("--port", type=int, default=8025, help="port to listen on; 0 picks one (8025)")
        parser.add_argument("--api-key", default=settings.MAILGUN_API_KEY or "key-simulator")
        parser.add_argument("--sending-key", default=settings.MAILGUN_SENDING_KEY)
        parser.add_argument("--latency", type=float, default=0, metavar="MS")
        parser.add_argument("--signal-file", type=Path, metavar="PATH")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        simulator = Simulator(
            options["host"],
            options["port"],
            api_key=options["api_key"],
            sending_key=options["sending_key"],
            latency=options["latency"] / 1000,
            signal_file=options["signal_file"],
        )
        try:
            simulator.start()
        except OSError as error:
            raise UserError(
                f"Cannot listen on {options['host']}:{options['port']}: {error.strerror}."
            ) from error
        self.stdout.write(f"Simulated Mailgun on {simulator.url}")
        self.stdout.flush()
        stop.wait()
        simulator.stop()
