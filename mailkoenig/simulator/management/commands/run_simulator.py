"""Run the simulated Mailgun until it is told to stop."""

import gc
import signal
import threading
from argparse import ArgumentTypeError, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from mailkoenig.lib.command import UserError
from mailkoenig.simulator import Fault, Habits, Rates, Simulator
from mailkoenig.simulator.faults import ACTIONS

SHARES = {
    "delivered": (1.0, "of what did not bounce"),
    "bounced": (0.0, "of what was accepted; always the same addresses"),
    "deferred": (0.0, "of what was delivered: after a temporary failure"),
    "opened": (0.0, "of what was delivered"),
    "machine": (0.0, "of what was opened: by a mail program, not a person"),
    "clicked": (0.0, "of what was delivered"),
    "complained": (0.0, "of what was delivered"),
    "unsubscribed": (0.0, "of what was delivered"),
}
EPILOG = "Faults are a JSON list of objects, in a file or by POST to /simulator/faults, such as\n"
EPILOG += '  [{"action": "rate_limit", "status": 429, "seconds": 30, "times": 2, "after": 5},\n'
EPILOG += '   {"action": "error", "accept": true, "only": {"domain": "mg.example.com"}}]\n\nActions:\n'
EPILOG += "\n".join(f"  {name:14} {meaning}" for name, meaning in ACTIONS.items())


class Command(BaseCommand):
    """Parse, start, wait, stop."""

    help = (
        "Run a simulated Mailgun. It takes mail as the real one does, delivers none of it, shows each copy in a\n"
        "browser, and reports made-up events as signed webhooks and on the events API. Point MAILGUN_API_URL at it."
    )
    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        kwargs.setdefault("epilog", EPILOG)
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.formatter_class = RawDescriptionHelpFormatter
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
        add("--port", type=int, default=8025, help="port to listen on; 0 picks a free one (8025)")
        add(
            "--api-key",
            default=settings.MAILGUN_API_KEY or "key-simulator",
            help="account key (MAILGUN_API_KEY)",
        )
        add("--sending-key", default=settings.MAILGUN_SENDING_KEY, help="sending key (MAILGUN_SENDING_KEY)")
        add(
            "--signing-key",
            default=(settings.MAILGUN_WEBHOOK_SIGNING_KEYS or ["key-simulator-webhooks"])[0],
            help="key that signs webhooks (first of MAILGUN_WEBHOOK_SIGNING_KEYS)",
        )
        add("--domain", action="append", metavar="NAME", help="a sending domain, repeatable (every domain)")
        add(
            "--webhook-url",
            metavar="URL",
            help="post events there, such as http://127.0.0.1:8000/webhooks/mailgun/",
        )
        add("--webhook-threads", type=int, default=4, metavar="N", help="posts at the same time (4)")
        add(
            "--duplicated", type=share, default=0.0, metavar="RATE", help="share of webhooks posted twice (0)"
        )
        add("--reordered", type=share, default=0.0, metavar="RATE", help="share of webhooks posted late (0)")
        add(
            "--latency",
            type=milliseconds,
            default=0.0,
            metavar="MS",
            help="wait before each answer, or LEAST-MOST (0)",
        )
        add(
            "--pace",
            type=float,
            default=0.5,
            metavar="S",
            help="seconds from one kind of event to the next (0.5)",
        )
        add(
            "--log-delay",
            type=float,
            default=0.0,
            metavar="S",
            help="seconds until the events API shows an event (0)",
        )
        add(
            "--log-shuffle", type=float, default=0.0, metavar="S", help="up to so many more, out of order (0)"
        )
        for name, (default, base) in SHARES.items():
            add(f"--{name}", type=share, default=default, metavar="RATE", help=f"share {base} ({default:g})")
        add("--seed", type=int, default=0, metavar="N", help="the same seed gives the same events (0)")
        add("--faults", type=Path, metavar="FILE", help="JSON list of faults to play, see below")
        add(
            "--signal-file",
            type=Path,
            metavar="PATH",
            help="append a line on each acceptance, before the answer",
        )
        add("--no-render", action="store_true", help="keep no bodies: for benchmarks")
        add("--quiet", action="store_true", help="print nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        gc.set_threshold(50_000, 50, 50)  # a call makes thousands of objects and no cycles
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        simulator = built(options)
        try:
            simulator.start()
        except (OSError, OverflowError) as error:
            raise UserError(
                f"Cannot listen on {options['host']}:{options['port']}: {error}. Choose another --port."
            ) from error
        if not options["quiet"]:
            self.stdout.write(f"Simulated Mailgun on {simulator.url}")
            self.stdout.flush()
        stop.wait()
        simulator.stop()


def built(options: dict[str, Any]) -> Simulator:
    """Return the simulator that the options describe."""
    return Simulator(
        options["host"],
        options["port"],
        domains=options["domain"],
        api_key=options["api_key"],
        sending_key=options["sending_key"],
        signing_key=options["signing_key"],
        webhook_url=options["webhook_url"],
        habits=Habits(
            threads=options["webhook_threads"],
            duplicated=options["duplicated"],
            reordered=options["reordered"],
        ),
        rates=Rates(**{name: options[name] for name in SHARES}),
        pace=options["pace"],
        log_delay=options["log_delay"],
        log_shuffle=options["log_shuffle"],
        latency=options["latency"],
        faults=read_faults(options["faults"]) if options["faults"] else (),
        seed=options["seed"],
        signal_file=options["signal_file"],
        keep_bodies=not options["no_render"],
    )


def read_faults(path: Path) -> list[Fault]:
    """Read a file of faults."""
    try:
        value = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise UserError(f"Cannot read the faults in {path}: {error}.") from error
    return [Fault.read(item) for item in (value if isinstance(value, list) else [value])]


def share(text: str) -> float:
    """Read a share between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ArgumentTypeError(f"a share between 0 and 1 such as 0.25, not {text!r}")
    return value


def milliseconds(text: str) -> float | tuple[float, float]:
    """Read milliseconds, or a range of them, as seconds."""
    least, dash, most = text.partition("-")
    try:
        return (float(least) / 1000, float(most) / 1000) if dash else float(text) / 1000
    except ValueError as error:
        raise ArgumentTypeError(
            f"milliseconds such as 150, or a range such as 100-300, not {text!r}"
        ) from error
