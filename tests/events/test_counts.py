"""Webhooks are counted, and a flood of refused ones costs the database nothing."""

import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from campaigns.models import Tally
from events.counts import Counts, counts
from tests.processes import eventually


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    counts.counted.clear()


def post(client: Client, **content: object) -> int:
    return client.post("/webhooks/mailgun/", json.dumps(content), content_type="application/json").status_code


def tally() -> dict[str, int]:
    return dict(Tally.objects.values_list("name", "times"))


@pytest.mark.django_db
def test_a_flood_of_bad_signatures_costs_no_writes(client: Client) -> None:
    forged = {"timestamp": "1700000000", "token": "t" * 50, "signature": "0" * 64}
    with CaptureQueriesContext(
        connection,
    ) as queries:
        for _ in range(200):
            assert post(client, signature=forged) == 403

    assert [query["sql"] for query in queries if "tallies" in query["sql"]] == []
    counts.write()
    assert tally() == {"refused:signature": 200}
    counts.write()
    assert tally() == {"refused:signature": 200}


@pytest.mark.django_db
def test_each_reason_has_its_word(client: Client) -> None:
    assert client.post("/webhooks/mailgun/", b"no json", content_type="application/json").status_code == 406

    counts.write()

    assert tally() == {"refused:unreadable": 1}


@pytest.mark.django_db(transaction=True)
def test_they_are_written_by_themselves_after_a_while() -> None:
    own = Counts(every=lambda: 0.05)

    own.add("webhook:delivered")
    own.add("webhook:delivered")

    eventually(lambda: tally() == {"webhook:delivered": 2})
    own.add("webhook:delivered")
    eventually(lambda: tally() == {"webhook:delivered": 3})


@pytest.mark.django_db
def test_what_could_not_be_written_is_kept() -> None:
    own = Counts(every=lambda: 86_400)
    own.add("x" * 51)  # longer than the column

    with pytest.raises(Exception, match="too long"):
        own.write()

    assert own.counted == {"x" * 51: 1}
