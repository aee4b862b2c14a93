"""manage.py import_contacts FILE"""

import json
import shutil
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from contacts.importing import Report, import_contacts
from contacts.models import ContactImport
from mailkoenig.lib import audit
from mailkoenig.lib.command import UserError, operator
from mailkoenig.lib.counting import many

SHOWN = 20

HELP = """Import contacts from a CSV file: one row a person, the first row names the columns.

One column must be called "email". "name", or "first name" and "last name", make the name; every other column becomes
a merge tag of that name in small letters. UTF-8, UTF-16 and Windows-1252 are told apart, so are comma, semicolon, tab and bar.
Nobody who unsubscribed, bounced or complained is brought back. Rows that cannot be taken are listed with the reason.
Everything is written in one transaction."""


class Command(BaseCommand):
    help = HELP

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the CSV file; - reads from standard input")
        parser.add_argument(
            "--list", metavar="NAME", default="", help="put everybody on this list, made where it is missing"
        )
        parser.add_argument(
            "--update",
            action="store_true",
            help="change names and attributes of known contacts too; an empty cell erases nothing",
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would happen, and write nothing")
        parser.add_argument(
            "--json", action="store_true", help="print one JSON object, with every row that was not taken"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with opened(options["file"]) as file, bar(file, hidden=options["json"]) as progress:
            report = import_contacts(
                file,
                file_name=options["file"],
                list_name=options["list"],
                update=options["update"],
                is_dry_run=options["dry_run"],
                progress=progress,
            )
        if report.contact_import is not None:
            written = ContactImport.objects.get(pk=report.contact_import)
            audit.note(on=written, what=f"Imported {written}.", by=operator())
        if options["json"]:
            for part in json_parts(report):
                self.stdout.write(part, ending="")
            self.stdout.write("")
        else:
            for line in summary(report, list_name=options["list"], update=options["update"]):
                self.stdout.write(line)


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """Open the file `name`, by way of a temporary one where it can be read only once. Raises UserError."""
    try:
        with sys.stdin.buffer if name == "-" else Path(name).open("rb") as file:
            if file.seekable():
                yield file
                return
            with tempfile.TemporaryFile() as copy:
                shutil.copyfileobj(file, copy)
                yield copy
    except FileNotFoundError:
        raise UserError(f"There is no file {name}: check the path.") from None
    except IsADirectoryError:
        raise UserError(f"{name} is a folder: name the CSV file in it.") from None
    except PermissionError:
        raise UserError(f"{name} may not be read by this user: change its permissions.") from None


@contextmanager
def bar(file: BinaryIO, *, hidden: bool) -> Iterator[Any]:
    """Show how far the file has been read, on a terminal only."""
    console = Console(stderr=True)
    if hidden or not console.is_terminal:
        yield lambda stage, position: None
        return
    size = file.seek(0, 2)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(elapsed_when_finished=True))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("Reading", total=size or None)
        yield lambda stage, position: progress.update(
            task, description=stage, completed=position, total=None if stage == "Storing" else size
        )


def json_parts(report: Report) -> Iterator[str]:
    """Yield the report as one JSON object in pieces: there may be a million rows that were not taken."""
    yield json.dumps(report.totals)[:-1]
    for name, wanted in (("refusals", True), ("skips", False)):
        yield f', "{name}": ['
        rows = (row for row in report.refusals if row.is_refused is wanted)
        for number, row in enumerate(rows):
            shown = {"row": row.row, "reason": row.reason}
            yield (", " if number else "") + json.dumps(shown, ensure_ascii=False)
        yield "]"
    yield "}"


def summary(report: Report, *, list_name: str, update: bool) -> Iterator[str]:
    """Yield the report in words: what was not taken and why, the totals, what to do next."""
    missing = report.refused + report.skipped
    for refusal in islice(report.refusals, SHOWN):
        yield f"row {refusal.row}: {refusal.reason}"
    if missing > SHOWN:
        yield f"... and {many(missing - SHOWN, 'more row')}: --json lists them all."
    yield ", ".join(f"{count:,} {name}" for name, count in report.totals.items()) + "."
    yield next_step(report, list_name=list_name, update=update)


def next_step(report: Report, *, list_name: str, update: bool) -> str:
    """Return what to do now, in one sentence."""
    if report.contact_import is None:
        return "Nothing was written: run it again without --dry-run."
    if report.refused:
        return "Mend the refused rows and import the file again: the others stay as they are."
    if report.unchanged and not update:
        return "Known contacts keep their names and attributes: run it again with --update to change them."
    if list_name:
        return f"Next: write a campaign to the list “{list_name}” in the admin."
    return "Next: write a campaign in the admin; --list NAME puts these contacts on a list to send to."
