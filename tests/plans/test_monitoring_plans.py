"""Looking at how things stand reads only what is open, however much was sent."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from campaigns import reports
from campaigns.models import Stream
from campaigns.sql import guard
from mailkoenig.monitoring import queries, sql
from tests.factories import CampaignFactory, SenderDomainFactory
from tests.plans.test_queue_plans import nodes

pytestmark = pytest.mark.django_db

SENT = """
INSERT INTO email_jobs (stream_id, domain_id, idempotency_key, digest, email, sender, subject, text, status, sent_at, created_at)
SELECT %(stream)s, %(domain)s, 'k' || n, '', 'p' || n || '@example.com', 's', 's', 't', 'delivered', now(), now()
FROM generate_series(1, 20000) AS n;
INSERT INTO email_jobs (stream_id, domain_id, idempotency_key, digest, email, sender, subject, text, status, reason)
SELECT %(stream)s, %(domain)s, 'o' || n, '', 'p' || n || '@example.com', 's', 's', 't',
       CASE WHEN n %% 2 = 0 THEN 'pending' ELSE 'failed' END, 'why'
FROM generate_series(1, 100) AS n;
INSERT INTO send_batches (id, stream_id, domain_id, worker, state, size, answer_class, claimed_at, started_at, settled_at, lease_expires_at)
SELECT gen_random_uuid(), %(stream)s, %(domain)s, 'w', 'accepted', 1, '200', now() - n * interval '10 seconds',
       now() - n * interval '10 seconds', now() - n * interval '10 seconds', now()
FROM generate_series(1, 20000) AS n;
INSERT INTO send_batches (id, stream_id, domain_id, worker, state, size, claimed_at, started_at, lease_expires_at)
SELECT gen_random_uuid(), %(stream)s, %(domain)s, 'w', state, 1, now(), now(), now()
FROM generate_series(1, 5), unnest(ARRAY['leased', 'in_flight', 'unknown']) AS state;
INSERT INTO campaign_recipients (campaign_id, contact_id, email, status, sent_at, delivered_at)
SELECT %(campaign)s, n, 'p' || n || '@example.com', CASE WHEN n %% 1000 = 0 THEN 'bounced' ELSE 'delivered' END, now(), now()
FROM generate_series(1, 20000) AS n;
INSERT INTO campaign_recipients (campaign_id, contact_id, email)
SELECT %(campaign)s, n, 'p' || n || '@example.com' FROM generate_series(20001, 20100) AS n;
INSERT INTO alert_notices (alert_id, about, way, summary, began_at, told_at)
SELECT a.id, 'began', 'email', 's', now(), now() FROM a_notice AS a, generate_series(1, 5000)
"""
BIG = {"email_jobs", "send_batches", "campaign_recipients", "alert_notices"}


@pytest.fixture
def much_sent() -> Iterator[int]:
    """A stream and a campaign of which nearly everything was sent, mostly in one stream."""
    campaign = CampaignFactory.create(status="sending")
    parameters = {
        "stream": Stream.objects.get(name="receipts").pk,
        "domain": SenderDomainFactory.create().pk,
        "campaign": campaign.pk,
    }
    alert = "INSERT INTO alerts (kind, subject, severity, summary) VALUES ('stalled', 'x', 'page', 's') RETURNING id"
    with connection.cursor() as cursor:
        for statement in SENT.split(";"):
            cursor.execute(
                f"WITH a_notice AS ({alert}) {statement}" if "a_notice" in statement else statement,
                parameters,
            )
        for table in BIG:
            # Rows of tests that were rolled back stay in an index until then, and make it look dear.
            cursor.execute(f"REINDEX TABLE {table}")
            cursor.execute(f"ANALYZE {table}")
    yield campaign.pk


def reads(statement: str, parameters: dict[str, Any] | None = None) -> set[str]:
    """Return the big tables that are read whole, and the full indexes that are walked."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}", parameters or {})
        (found,) = cursor.fetchone()
    tree = json.loads(found) if isinstance(found, str) else found
    return {
        f"{node['Relation Name']} whole"
        for node in nodes(tree[0]["Plan"])
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] in BIG
    }


def test_how_things_stand_is_read_from_indexes_of_what_is_open(much_sent: int) -> None:
    # One test, as filling the tables takes longer than all of it.
    limited = {"most": queries.MOST}
    statements: dict[str, tuple[str, dict[str, Any]]] = {
        "waiting": (queries.WAITING, limited),
        "open": (queries.OPEN, limited),
        "dead": (queries.DEAD, limited),
        "last": (queries.LAST, limited),
        "streams": (queries.STREAMS, limited),
        "workers": (queries.WORKERS, limited),
        "silence, of campaigns only": (reports.ALL_SILENT, {"after": timedelta(minutes=15)}),
        "notices that are not told": (sql.CLAIM, {"lease": timedelta(minutes=1), "tried": "{}"}),
        "guard rails, whom it ended badly for": (guard.BAD, {"campaigns": f"{{{much_sent}}}"}),
    }

    found = {name: reads(*given) for name, given in statements.items()}
    assert {name: tables for name, tables in found.items() if tables} == {}


def test_no_statement_is_compiled_first() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT setconfig FROM pg_db_role_setting JOIN pg_database AS d ON d.oid = setdatabase "
            "WHERE d.datname = current_database() AND setrole = 0"
        )
        assert "jit=off" in cursor.fetchone()[0]
