"""Importing contacts and fixing an audience, each against the least that the database must do."""

import csv
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from django.db import connection, transaction

from campaigns import housekeeping
from campaigns.models import Campaign, Recipient
from contacts.importing import import_contacts
from contacts.models import Contact, ContactList
from mailkoenig.lib import db
from tests.benchmarks.figures import Part, Scale, at_most, compared
from tests.benchmarks.running import peak_memory_of
from tests.benchmarks.scratch import empty, make_campaign, make_contacts, make_list, say, settle_down

PIECE = 1 << 18


def write_file(path: Path, *, people: int) -> None:
    """Write a clean file of contacts."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["email", "name", "city"])
        # In an order that is not the index's: real files are not sorted either.
        for n in range(people):
            number = n * 7919 % people
            writer.writerow([f"person{number}@example.com", f"Person {number}", ("Berlin", "Köln")[n % 2]])


RAW_TABLE = "CREATE TEMPORARY TABLE raw_rows (email text, name text, city text) ON COMMIT DROP"
RAW_COPY = "COPY raw_rows FROM STDIN (FORMAT csv, HEADER true)"
RAW_UPSERT = """
INSERT INTO contacts AS c (email, name, attributes)
SELECT email, name, jsonb_build_object('city', city) FROM raw_rows
ON CONFLICT (email) DO UPDATE SET name = excluded.name, attributes = excluded.attributes
WHERE (c.name, c.attributes) IS DISTINCT FROM (excluded.name, excluded.attributes)
"""


def raw_import(path: Path) -> None:
    """Copy the file's bytes into a table and merge that, with no look at what stands in it."""
    with transaction.atomic(), connection.cursor() as cursor, path.open("rb") as file:
        cursor.execute(RAW_TABLE)
        with cursor.copy(RAW_COPY) as copy:
            while piece := file.read(PIECE):
                copy.write(piece)
        cursor.execute("ANALYZE raw_rows")
        cursor.execute(RAW_UPSERT)


def our_import(path: Path, *, list_name: str = "", update: bool = False) -> None:
    """Import the file as the command does."""
    with path.open("rb") as file:
        import_contacts(file, file_name=path.name, list_name=list_name, update=update)


def no_contacts() -> None:
    """Forget everybody."""
    db.execute("TRUNCATE contacts, contact_list_members, contact_imports, contact_import_refusals CASCADE")
    db.execute("CHECKPOINT")


def timed(people: int, act: Callable[[], object]) -> float:
    """Return people a second."""
    begin = time.perf_counter()
    act()
    return people / (time.perf_counter() - begin)


def importing(scale: Scale) -> Part:
    """Compare an import with COPY and an upsert of the same file, new people first and then the same again."""
    empty()
    people = scale.contacts
    ours: dict[str, list[float]] = {"new": [], "again": [], "listed": []}
    raw: dict[str, list[float]] = {"new": [], "again": []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        write_file(path, people=people)
        for number in range(scale.rounds):
            say(f"import: round {number + 1} of {scale.rounds}")
            no_contacts()
            raw["new"].append(timed(people, lambda: raw_import(path)))
            raw["again"].append(timed(people, lambda: raw_import(path)))
            no_contacts()
            ours["new"].append(timed(people, lambda: our_import(path)))
            assert Contact.objects.count() == people
            ours["again"].append(timed(people, lambda: our_import(path, update=True)))
            no_contacts()
            ours["listed"].append(timed(people, lambda: our_import(path, list_name="Everybody")))
        no_contacts()
        ContactList.objects.all().delete()
        memory = peak_memory_of(["import_contacts", str(path), "--list", "Everybody", "--json"])
        size = path.stat().st_size
    return {
        "rows": people,
        "bytes": size,
        "raw": "COPY of the file's bytes into a temporary table, ANALYZE, INSERT ... SELECT ... ON CONFLICT DO UPDATE",
        "import / raw": compared(ours["new"], raw["new"], floor=0.6, stretch=0.85),
        "import_of_known_contacts / raw": compared(ours["again"], raw["again"]),
        "import_onto_a_list / raw_without_a_list": compared(ours["listed"], raw["new"]),
        "importer_memory_MiB": at_most(memory, ceiling=120, stretch=60),
    }


RAW_SNAPSHOT = """
INSERT INTO campaign_recipients (campaign_id, contact_id, email, name, status, attempts, next_attempt_at)
SELECT %(campaign)s, id, email, name, 'pending', 0, statement_timestamp() FROM contacts
"""


def take_all() -> None:
    """Take the snapshot as the worker does, chunk by chunk."""
    while housekeeping.take_snapshot():
        pass


def snapshot(scale: Scale) -> Part:
    """Compare the snapshot of a list with a plain INSERT ... SELECT of everybody into the same table."""
    empty()
    make_contacts(scale.contacts)
    everybody = make_list()
    ours: list[float] = []
    raw: list[float] = []
    for number in range(scale.rounds):
        say(f"snapshot: round {number + 1} of {scale.rounds}")
        plain, campaign = prepared(everybody), prepared(everybody)
        raw.append(timed(scale.contacts, lambda: db.execute(RAW_SNAPSHOT, {"campaign": plain.pk})))  # noqa: B023
        db.execute("TRUNCATE campaign_recipients, send_batches")
        settle_down()
        Campaign.objects.filter(pk=campaign.pk).update(status="sending", snapshot_finished_at=None)
        ours.append(timed(scale.contacts, take_all))
        assert Recipient.objects.count() == scale.contacts
        Campaign.objects.update(status="sent")
    return {
        "contacts": scale.contacts,
        "chunk": 20_000,
        "raw": "one INSERT ... SELECT FROM contacts into campaign_recipients itself, without list, checks and chunks",
        "snapshot / raw": compared(ours, raw, floor=0.8, stretch=0.95),
    }


def prepared(everybody: ContactList) -> Campaign:
    """Make a campaign to a list, with nobody in the recipients' table."""
    db.execute("TRUNCATE campaign_recipients, send_batches")
    campaign = make_campaign(status="paused")
    campaign.lists.add(everybody)
    settle_down()
    return campaign
