"""Statements that the server plans once."""

from typing import NamedTuple

import pytest
from django.db import connection, transaction
from django.db.utils import DataError

from mailkoenig.lib import db

pytestmark = pytest.mark.django_db
HALF = "SELECT 10 / %(n)s::int"
PLANNED = "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT 10 / $1::int'"


class Quotient(NamedTuple):
    value: int


def test_a_planned_statement_is_planned_once_for_each_connection() -> None:
    for n in (1, 2, 5):
        assert db.fetch_planned(Quotient, HALF, {"n": n}) == Quotient(10 // n)

    assert db.value(PLANNED) == 1


def test_a_planned_statement_is_part_of_the_transaction() -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        db.fetch_planned(Quotient, "INSERT INTO contact_lists (name) VALUES ('Example') RETURNING 1")
        raise RuntimeError

    assert db.value("SELECT count(*) FROM contact_lists") == 0


def test_errors_of_a_planned_statement_are_djangos() -> None:
    with pytest.raises(DataError), transaction.atomic():
        db.fetch_planned(Quotient, "SELECT 1 / %(n)s::int", {"n": 0})


def test_a_connection_without_a_pooler_is_direct() -> None:
    connection.ensure_connection()

    assert db.is_direct(connection.connection)
