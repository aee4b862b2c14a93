"""An import as one act: everything in the file that can be taken is, or nothing is."""

import json
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import BinaryIO, NamedTuple

from django.contrib.auth.models import User
from django.db import transaction

from contacts import erasing
from contacts.importing import sql
from contacts.importing.columns import Columns, columns_of, is_header
from contacts.importing.rows import FOLDED, Refused, copy_line, refusal_line, row_reader
from contacts.models import ContactImport, ContactList
from contacts.sql import shadow_since
from mailkoenig.lib.command import UserError
from mailkoenig.lib.csv_table import Damaged, Table, open_table

ROWS_A_WRITE = 500
REFUSALS_KEPT = 10_000
MANY = 20_000

Progress = Callable[[str, int], None]
"""Told what is going on, and how many bytes of the file have been read."""


class Refusal(NamedTuple):
    """A row that was not taken, and why."""

    row: int
    reason: str
    is_refused: bool
    """False where nothing is wrong with the row: its address is suppressed, or stands in the file already."""


class Refusals:
    """Every row that was not taken, refused or skipped, in the order of the file; on disk, so there may be millions."""

    def __init__(self, verdicts: Iterable[tuple[int, str, bool]]) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when this object goes
        weakref.finalize(self, self.file.close)
        for verdict in verdicts:
            self.file.write(json.dumps(verdict).encode() + b"\n")

    def __iter__(self) -> Iterator[Refusal]:
        self.file.seek(0)
        for line in self.file:
            yield Refusal(*json.loads(line))


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a file. `read` is the sum of the other numbers."""

    read: int
    created: int
    updated: int
    unchanged: int
    skipped: int
    refused: int
    enlisted: int
    """How many contacts came onto the list."""
    contact_import: int | None
    """None for a dry run."""
    refusals: Refusals

    @property
    def totals(self) -> dict[str, int]:
        """The numbers that add up, by name."""
        return {
            name: getattr(self, name)
            for name in ("read", "created", "updated", "unchanged", "skipped", "refused")
        }


def import_contacts(
    file: BinaryIO,
    *,
    file_name: str,
    list_name: str = "",
    update: bool = False,
    is_dry_run: bool = False,
    by: User | None = None,
    progress: Progress = lambda stage, position: None,
) -> Report:
    """Import a CSV file that can be read twice; raises UserError where it cannot be read at all.

    Nobody's permission changes: suppressed addresses are skipped. Names and attributes of known contacts change only
    with `update`. All contacts that are taken come onto the list `list_name`, which is made where it is missing.
    """
    refuse_bad_list_name(list_name)
    with open_table(file, is_header=is_header) as table, transaction.atomic():
        columns = columns_of(table.header)
        began = ContactImport.objects.create(
            file_name=PurePath(FOLDED.sub(" ", file_name)).name[:255], update=update, imported_by=by
        )
        began.refresh_from_db(fields=["created_at"])
        with sql.staging() as copy:
            read = copy_rows(
                table, columns=columns, write=copy.write, tell=lambda: progress("Reading", file.tell())
            )
        progress("Storing", file.tell())
        report = store(read, list_name=list_name, contact_import=began)
        transaction.set_rollback(is_dry_run)
    if not is_dry_run:
        shadow_since(began.created_at)
        if report.created + report.enlisted > MANY:
            sql.refresh_statistics()
    return replace(report, contact_import=None) if is_dry_run else report


def refuse_bad_list_name(name: str) -> None:
    """Raise UserError for a name that no list can have."""
    if len(name) > 100 or FOLDED.sub(" ", name).strip() != name:
        raise UserError(
            "The name of a list has at most 100 characters, on one line, without blanks round it."
        )


def store(read: int, *, list_name: str, contact_import: ContactImport) -> Report:
    """Judge and write the rows that were copied, and keep the account of it."""
    erasing.recall_of_the_file()
    skipped, refused = sql.judge()
    contacts = ContactList.objects.get_or_create(name=list_name)[0] if list_name else None
    created, updated = sql.merge(update=contact_import.update)
    enlisted = sql.enlist(contacts.pk) if contacts else 0
    unchanged = read - created - updated - skipped - refused
    totals = {
        "read": read,
        "created": created,
        "updated": updated,
        "unchanged": unchanged,
        "skipped": skipped,
        "refused": refused,
    }
    ContactImport.objects.filter(pk=contact_import.pk).update(list=contacts, **totals)
    sql.keep_refusals(contact_import.pk, most=REFUSALS_KEPT)
    refusals = Refusals(sql.verdicts())
    sql.clear()
    return Report(**totals, enlisted=enlisted, contact_import=contact_import.pk, refusals=refusals)


def copy_rows(
    table: Table, *, columns: Columns, write: Callable[[bytes], None], tell: Callable[[], None]
) -> int:
    """Hand every record to the COPY, good or refused; return how many there were."""
    read = row_reader(columns)
    number = 0
    lines: list[str] = []
    for number, record in enumerate(table.records, start=1):
        if isinstance(record, Damaged):
            lines.append(refusal_line(number, record.reason))
        else:
            try:
                lines.append(copy_line(number, read(record)))
            except Refused as error:
                lines.append(refusal_line(number, str(error)))
        if len(lines) == ROWS_A_WRITE:
            write("".join(lines).encode())
            lines.clear()
            tell()
    write("".join(lines).encode())
    return number
