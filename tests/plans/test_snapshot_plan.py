"""The snapshot's plan when statistics were taken while contacts were being written."""

import json
import threading
from typing import Any

import pytest
from django.db import connection, transaction

from campaigns import housekeeping
from campaigns.models import Campaign, Recipient
from campaigns.sql import snapshot
from contacts.models import ContactList
from tests.factories import CampaignFactory, ContactListFactory, SenderDomainFactory
from tests.plans.test_queue_plans import nodes

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE = 2_000
FILL = """
WITH written AS (
    INSERT INTO contacts (email, name) SELECT 'p' || n || '@example.com', '' FROM generate_series(1, %(people)s) AS n
    RETURNING id
)
INSERT INTO contact_list_members (list_id, contact_id) SELECT %(list)s, id FROM written
"""


def execute(sql: str, parameters: dict[str, Any] | None = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


def autovacuum() -> None:
    """Look at the tables as autovacuum does: from outside, without what is not committed."""
    execute("ANALYZE contacts, contact_list_members")
    connection.close()


@pytest.fixture
def campaign() -> Campaign:
    audience: ContactList = ContactListFactory.create()
    with transaction.atomic():
        execute(FILL, {"people": PEOPLE, "list": audience.pk})
        other = threading.Thread(target=autovacuum)
        other.start()
        other.join()
    made: Campaign = CampaignFactory.create(
        status="sending", lists=[audience], domain=SenderDomainFactory.create()
    )
    return made


def compared(campaign: Campaign) -> int:
    """Return how many pairs the plan for the whole list puts beside each other in vain."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT min(list_id), min(contact_id) - 1, max(contact_id) FROM contact_list_members")
        audience, after, last = cursor.fetchone()
        parameters = {"campaign": campaign.pk, "list": audience, "after": after, "last": last}
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {snapshot.TAKE}", parameters)
        (found,) = cursor.fetchone()
    tree = json.loads(found) if isinstance(found, str) else found
    return sum(
        int(node.get("Rows Removed by Join Filter", 0)) * int(node["Actual Loops"])
        for node in nodes(tree[0]["Plan"])
    )


def test_a_list_that_was_written_a_moment_ago_is_planned_for_as_long_as_it_is(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "WORTH_ANALYZING", PEOPLE)
    with transaction.atomic():
        assert compared(campaign) > PEOPLE * 100, "the trap that this test is about is gone"
        transaction.set_rollback(True)

    while housekeeping.take_snapshot():
        pass

    assert Recipient.objects.count() == PEOPLE
    Recipient.objects.all().delete()
    assert compared(campaign) < PEOPLE
