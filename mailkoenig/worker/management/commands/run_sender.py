"""The worker process."""

import logging
import os
import signal
import socket
from contextlib import suppress
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from campaigns.models import Stream
from campaigns.sender import Sender
from mailkoenig.checks import TAG
from mailkoenig.lib.command import UserError
from mailkoenig.worker.chores import chores

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = (
        "Send what is due, until told to stop. Any number of these may run, on one host or many. "
        "SIGTERM: finish the calls that are open, give back the rest, exit 0 within 30 seconds; a second one cuts them."
    )

    # Its own settings only: the others are about pages, and need what makes them.
    requires_system_checks = [TAG]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--stream", action="append", metavar="NAME", help="serve only this stream (may be repeated)"
        )
        parser.add_argument("--once", action="store_true", help="send what is due now, then exit")
        parser.add_argument(
            "--worker",
            metavar="NAME",
            default="",
            help="name shown for what it holds (default: host and process)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        streams = options["stream"] or []
        known = set(Stream.objects.values_list("name", flat=True))
        for name in streams:
            if name not in known:
                raise UserError(f"There is no stream {name!r}: choose from {', '.join(sorted(known))}.")
        worker = options["worker"] or f"{socket.gethostname()}-{os.getpid()}"
        warn_about_leases()
        sender = Sender(worker=worker, chores=chores(), streams=streams)

        def end(number: int, frame: FrameType | None) -> None:
            sender.end()

        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
        # Who calls the web waits for its answer; a batch can come a moment later.
        with suppress(OSError):
            os.nice(settings.SENDER_NICE)
        logger.info("worker started", extra={"worker": worker})
        if options["once"]:
            sender.run_once()
        else:
            sender.run()
        logger.info("worker stopped", extra={"worker": worker})


def warn_about_leases() -> None:
    """Say where a lease would run out during a call that is still alive."""
    for stream in Stream.objects.all():
        if stream.lease.total_seconds() <= settings.MAILGUN_CALL_TIMEOUT:
            logger.warning(
                "lease is shorter than the slowest call: live calls will be taken for dead",
                extra={
                    "stream": stream.name,
                    "lease": stream.lease,
                    "call": f"{settings.MAILGUN_CALL_TIMEOUT:g} s",
                },
            )
