"""What a worker costs that has nothing to do."""

import time
from typing import NamedTuple

from campaigns.models import Campaign
from mailkoenig.lib import db
from tests.benchmarks.figures import Part, Scale, at_most
from tests.benchmarks.running import cpu_seconds, peak_memory
from tests.benchmarks.scratch import empty, make_campaign, make_contacts, say, settle_down
from tests.benchmarks.sending import work_through
from tests.processes import worker

# A table of so few pages is read whole by any planner, and stays so.
SMALL = 8

# Calls of last month.
BATCHES = """
INSERT INTO send_batches
    (id, stream_id, campaign_id, domain_id, worker, state, size, accepted, claimed_at, lease_expires_at, started_at, settled_at)
SELECT gen_random_uuid(), stream_id, campaign_id, domain_id, 'benchmark', 'accepted', 1000, 1000, moment, moment, moment, moment
FROM send_batches, generate_series(1, 100) AS n, LATERAL (SELECT claimed_at - n * interval '6 hours' - interval '3 days') AS m (moment)
"""
SCANS = """
SELECT s.relname, s.seq_scan, s.seq_tup_read, s.idx_scan, c.relpages
FROM pg_stat_user_tables AS s JOIN pg_class AS c ON c.oid = s.relid
WHERE s.schemaname = 'public'
"""


class Scans(NamedTuple):
    """How often a table was read whole."""

    table: str
    whole: int
    rows: int
    by_index: int | None
    pages: int


def scans() -> dict[str, Scans]:
    """Return the counts of every table."""
    return {row.table: row for row in db.fetch(Scans, SCANS)}


def idle(scale: Scale) -> Part:
    """Watch a worker beside many campaigns that are over."""
    empty()
    say("idle worker: making campaigns that are over")
    make_contacts(20_000)
    for _ in range(5):
        work_through(make_campaign(20_000))
    Campaign.objects.update(status="sent")
    Campaign.objects.bulk_create(
        Campaign(name=f"Campaign {n}", subject="News", body="News" * 100, status="sent") for n in range(500)
    )
    db.execute(BATCHES)
    settle_down()
    # The settings of everyday life, not those of the tests.
    with worker(SENDER_POLL="0.5") as process:
        scans()  # after which the server counts what this connection has read itself
        time.sleep(12)  # noqa: TID251 - its start is not what is measured
        before, used = scans(), cpu_seconds(process.pid)
        say(f"idle worker: watching for {scale.idle_seconds} s")
        time.sleep(scale.idle_seconds)  # noqa: TID251 - nothing is to happen
        spent = (cpu_seconds(process.pid) - used) / scale.idle_seconds
        after, memory = scans(), peak_memory(process.pid)
    grown = {name: after[name].whole - before[name].whole for name in after}
    large = {name: count for name, count in grown.items() if count and after[name].pages > SMALL}
    return {
        "seconds": scale.idle_seconds,
        "share_of_a_core": at_most(round(spent, 4), ceiling=0.01),
        "tables_read_whole": at_most(len(large), ceiling=0) | {"tables": large},
        "tables_of_a_few_rows_read_whole": {
            name: count for name, count in grown.items() if count and name not in large
        },
        "looks_by_index": {
            name: (after[name].by_index or 0) - (before[name].by_index or 0)
            for name in after
            if after[name].by_index != before[name].by_index
        },
        "worker_memory_MiB": at_most(memory, ceiling=80, stretch=60),
    }
