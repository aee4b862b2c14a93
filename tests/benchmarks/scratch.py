"""A database of its own, on the server of the settings, and what stands in it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from campaigns.models import Campaign, SenderDomain
from contacts.models import ContactList
from mailkoenig.lib import db

BODY = """# News for {{ name|default:"you" }}

Hello {{ name|default:"there" }}, this is what is new in {{ city|default:"your town" }} this month.

- The shop is open on Sundays.
- [All of our offers](https://www.example.com/offers/) are one click away.

{% if city == "Berlin" %}Come and see us at the market.{% else %}Come and see us.{% endif %}

[Leave this list]({{ unsubscribe_url }})
"""


def say(text: str) -> None:
    """Tell the person who waits what goes on."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


@contextmanager
def scratch_database() -> Iterator[None]:
    """Make a database, work in it, drop it."""
    before = connection.settings_dict["NAME"]
    connection.settings_dict["TEST"]["NAME"] = f"bench_{os.getpid()}"
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        yield
    finally:
        connection.creation.destroy_test_db(before, verbosity=0)


KEPT = {"streams", "installation"}


def empty() -> None:
    """Begin anew: nobody, no mail, no ledger."""
    tables = [
        name
        for name in connection.introspection.django_table_names(only_existing=True)
        if not name.startswith(("auth_", "django_")) and name not in KEPT
    ]
    # Streams name a domain, and a truncated table takes along what names it.
    tables.remove("sender_domains")
    db.execute("UPDATE streams SET domain_id = NULL")
    db.execute(f"TRUNCATE {', '.join(tables)} RESTART IDENTITY CASCADE")
    db.execute("DELETE FROM sender_domains")


CONTACTS = """
INSERT INTO contacts (email, name, attributes)
SELECT 'person' || n || '@example.com', 'Person ' || n,
       jsonb_build_object('city', CASE WHEN n %% 3 = 0 THEN 'Berlin' ELSE 'Leipzig' END)
FROM generate_series(1, %(people)s) AS n
"""


def make_contacts(people: int) -> None:
    """Make people."""
    db.execute(CONTACTS, {"people": people})


MEMBERS = """
INSERT INTO contact_list_members (list_id, contact_id) SELECT %(list)s, id FROM contacts ORDER BY id
"""


def make_list() -> ContactList:
    """Put everybody on a list."""
    made = ContactList.objects.create(name="Everybody")
    db.execute(MEMBERS, {"list": made.pk})
    return made


RECIPIENTS = """
INSERT INTO campaign_recipients (campaign_id, contact_id, email, name, status, attempts, next_attempt_at, batch_id, sent_at)
SELECT %(campaign)s, id, email, name, %(status)s, 0, statement_timestamp(),
       CASE WHEN %(status)s = 'sent' THEN gen_random_uuid() END,
       CASE WHEN %(status)s = 'sent' THEN statement_timestamp() END
FROM contacts ORDER BY id LIMIT %(people)s
"""


def make_campaign(people: int = 0, *, status: str = "sending", recipients: str = "pending") -> Campaign:
    """Make a campaign whose snapshot is complete: the first contacts, all of them in one state."""
    domain, _ = SenderDomain.objects.get_or_create(name="mg.example.com")
    campaign = Campaign.objects.create(
        name="Benchmark",
        subject='News for {{ name|default:"you" }}',
        body=BODY,
        from_name="Example Shop",
        from_email="news@mg.example.com",
        domain=domain,
        status="paused",
        snapshot_finished_at=db.now(),
    )
    db.execute(RECIPIENTS, {"campaign": campaign.pk, "people": people, "status": recipients})
    campaign.status = status
    campaign.save(update_fields=["status"])
    return campaign


def settle_down() -> None:
    """Let what was just written neither surprise the planner nor be written out during the measurement."""
    db.execute("VACUUM ANALYZE campaign_recipients")
    db.execute("ANALYZE contacts, campaigns, contact_list_members, send_batches")
    db.execute("CHECKPOINT")


def setting(name: str) -> str:
    """Return a setting of the server."""
    return str(db.value("SELECT current_setting(%(name)s)", {"name": name}))


def description() -> dict[str, object]:
    """Say what the figures were measured on."""
    names = (
        "server_version",
        "shared_buffers",
        "max_wal_size",
        "fsync",
        "synchronous_commit",
        "full_page_writes",
    )
    return {
        "cores": os.cpu_count(),
        "load_at_start": os.getloadavg()[0],
        "python": sys.version.split()[0],
        "postgresql": {name: setting(name) for name in names},
    }
