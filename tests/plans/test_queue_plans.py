"""The plans of the hot statements, on skewed rows: many campaigns, nearly everybody sent."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from campaigns.models import Campaign, SendBatch, Stream
from campaigns.sql import feedback, jobs, queue, recovery
from tests.factories import CampaignFactory, SenderDomainFactory

pytestmark = pytest.mark.django_db

SENT = """
INSERT INTO campaign_recipients (campaign_id, contact_id, email, name, status, batch_id, attempts, sent_at, next_attempt_at)
SELECT %(campaign)s, n, 'p' || n || '@example.com', '', 'sent', gen_random_uuid(), 1, now(), now()
FROM generate_series(1, 8000) AS n
"""
OPEN = """
INSERT INTO campaign_recipients (campaign_id, contact_id, email, name, status, batch_id, locked_by, locked_at, attempts, next_attempt_at)
SELECT %(campaign)s, n, 'p' || n || '@example.com', '',
       CASE WHEN n %% 2 = 0 THEN 'pending' ELSE 'sending' END,
       CASE WHEN n %% 2 = 0 THEN NULL ELSE %(batch)s::uuid END,
       CASE WHEN n %% 2 = 0 THEN NULL ELSE 'w' END,
       CASE WHEN n %% 2 = 0 THEN NULL ELSE now() END, 1, now()
FROM generate_series(8001, 8400) AS n
"""
PENDING = """
INSERT INTO campaign_recipients (campaign_id, contact_id, email)
SELECT %(campaign)s, n, 'p' || n || '@example.com' FROM generate_series(1, 60000) AS n
"""


@pytest.fixture
def skewed() -> Iterator[SendBatch]:
    """Five campaigns with 8,000 accepted people each, the last with 400 open ones, half of them in a batch."""
    domain = SenderDomainFactory.create()
    campaigns: list[Campaign] = CampaignFactory.create_batch(5, status="sending", domain=domain)
    batch = SendBatch.objects.create(
        stream=Stream.objects.get(name="campaigns"),
        campaign=campaigns[-1],
        domain=domain,
        worker="w",
        lease_expires_at="2026-01-01T00:00Z",
    )
    with connection.cursor() as cursor:
        for campaign in campaigns:
            cursor.execute(SENT, {"campaign": campaign.pk})
        cursor.execute(OPEN, {"campaign": campaigns[-1].pk, "batch": batch.pk})
        cursor.execute("ANALYZE campaign_recipients")
    yield batch


def plan(sql: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every node of the plan that reads the recipients."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", parameters)
        (found,) = cursor.fetchone()
    tree = json.loads(found) if isinstance(found, str) else found
    return [
        node
        for node in nodes(tree[0]["Plan"])
        if node.get("Relation Name") == "campaign_recipients" and "Scan" in node["Node Type"]
    ]


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)


def indexes(sql: str, parameters: dict[str, Any]) -> set[str]:
    """Return the indexes that a plan reads recipients by; a sequential scan shows as such."""
    found = plan(sql, parameters)
    names = {child["Index Name"] for node in found for child in nodes(node) if "Index Name" in child}
    return names | {node["Node Type"] for node in found if node["Node Type"] == "Seq Scan"}


def test_a_claim_reads_only_who_is_ready(skewed: SendBatch) -> None:
    found = indexes(
        queue.CLAIM, {"campaign": skewed.campaign_id, "batch": uuid4(), "worker": "w", "probing": False}
    )

    assert "recipient_ready" in found
    assert "Seq Scan" not in found


def test_a_claim_of_a_campaign_that_has_just_begun_reads_only_its_first_people() -> None:
    campaign: Campaign = CampaignFactory.create(status="sending")
    with connection.cursor() as cursor:
        cursor.execute(PENDING, {"campaign": campaign.pk})
        cursor.execute("ANALYZE campaign_recipients")

    parameters = {"campaign": campaign.pk, "batch": uuid4(), "worker": "w", "probing": False}
    assert indexes(queue.CLAIM, parameters) == {"recipient_ready", "campaign_recipients_pkey"}


def test_looking_for_work_reads_only_who_is_ready(skewed: SendBatch) -> None:
    assert indexes(queue.READY, {}) == {"recipient_ready"}


def test_the_last_look_goes_by_the_ids(skewed: SendBatch) -> None:
    ids = [person.id for person in skewed.recipients.all()]

    assert indexes(queue.SKIP, {"ids": ids, "batch": skewed.pk}) == {"campaign_recipients_pkey"}


def test_a_settle_goes_by_the_ids(skewed: SendBatch) -> None:
    ids = [person.id for person in skewed.recipients.all()]

    assert indexes(jobs.written(jobs.ACCEPT, jobs.RECIPIENTS), {"ids": ids, "batch": skewed.pk}) == {
        "campaign_recipients_pkey"
    }


def test_giving_back_reads_only_who_is_open(skewed: SendBatch) -> None:
    parameters = {"batch": skewed.pk, "reason": "", "after": "0 s", "refund": 0, "unclear": False}

    assert indexes(jobs.written(jobs.RETURN, jobs.RECIPIENTS), parameters) == {"recipient_open"}


def test_asking_whether_it_is_over_reads_only_who_is_open(skewed: SendBatch) -> None:
    Campaign.objects.update(snapshot_finished_at="2026-01-01T00:00Z")

    assert indexes(recovery.COMPLETE, {}) == {"recipient_ready", "recipient_open"}


def test_an_event_finds_its_recipient_without_a_scan(skewed: SendBatch) -> None:
    parameters = {
        "row": 1,
        "batch": skewed.pk,
        "address": "p1@example.com",
        "reached": "delivered",
        "ladder": ["sent", "delivered"],
        "reason": "",
        "occurred_at": "2026-01-01T00:00Z",
        "opened": False,
        "clicked": False,
        "machine_opened": False,
        "machine_clicked": False,
    }

    assert "Seq Scan" not in indexes(jobs.written(feedback.RECORD, jobs.RECIPIENTS), parameters)
