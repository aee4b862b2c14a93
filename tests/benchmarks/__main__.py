"""Measure speed and memory in a scratch database, and print one JSON object: python -m tests.benchmarks --help."""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import tests.environment  # noqa: F401 - before Django reads its settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mailkoenig.settings")

import django

django.setup()

from tests.benchmarks import api, idle, people, receipts, sending, webhooks  # noqa: E402 - the apps must be loaded first
from tests.benchmarks.figures import SCALES, Part, Scale  # noqa: E402
from tests.benchmarks.scratch import description, say, scratch_database  # noqa: E402

PARTS: dict[str, Callable[[Scale], Part]] = {
    "sending": sending.sending,
    "long_campaign": sending.long_campaign,
    "large_table": sending.large_table,
    "receipts": receipts.receipts,
    "api": api.api,
    "snapshot": people.snapshot,
    "import": people.importing,
    "webhooks": webhooks.webhooks,
    "idle": idle.idle,
}
EPILOG = """
Each ratio is of two rates measured in turns in this run, because a shared machine is quicker in one minute than in the
next; the medians of the rounds are shown. "floor" (or "ceiling") and "stretch" are the targets, "ok" says whether the
first is met. A figure that misses its target does not fail the run. The database is made on the server of the settings
and dropped in the end.
"""


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--scale",
        choices=SCALES,
        default="small",
        help="small: about 5 minutes on 2 cores; full: campaigns of 1,000,000, a table of 5,000,000 (small)",
    )
    parser.add_argument(
        "--only",
        choices=PARTS,
        action="append",
        metavar="NAME",
        help=f"one of {', '.join(PARTS)}; repeatable",
    )
    return parser.parse_args(argv)


def measure(names: Sequence[str], *, scale: Scale) -> Iterator[tuple[str, object]]:
    """Measure the parts one after the other."""
    begin = time.monotonic()
    yield "measured_at", datetime.now(UTC).isoformat(timespec="seconds")
    with scratch_database():
        yield "machine", description()
        for name in names:
            say(f"{name} ...")
            yield name, PARTS[name](scale)
    yield "seconds", round(time.monotonic() - begin)


def main(argv: Sequence[str]) -> None:
    """Measure and print; where a part fails, what was found before it is printed all the same."""
    options = arguments(argv)
    # An interrupted run still stops its processes and drops its database.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    found: dict[str, object] = {"scale": options.scale}
    try:
        for name, value in measure(options.only or list(PARTS), scale=SCALES[options.scale]):
            found[name] = value
    finally:
        sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
