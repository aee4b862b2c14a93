import pytest
from django.db import connection
from django.test import Client


def test_healthz_asks_no_database(client: Client) -> None:
    response = client.get("/healthz")

    assert (response.status_code, response.content) == (200, b"ok\n")


@pytest.mark.django_db
def test_readyz_is_ready_with_every_migration(client: Client) -> None:
    response = client.get("/readyz")

    assert (response.status_code, response.json()) == (200, {"ready": True})


@pytest.mark.django_db
def test_readyz_says_what_is_missing(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'events'")

    response = client.get("/readyz")

    assert response.status_code == 503
    assert "migrate" in response.json()["reason"]
