"""Is it alive, can it work, and who may read its figures."""

from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings

from campaigns.models import Stream
from campaigns.sql import tallies, workers


def a_worker(*streams: str) -> None:
    workers.beat(id=uuid4(), name="worker-1", streams=streams, doing={})


def test_healthz_asks_no_database(client: Client) -> None:
    response = client.get("/healthz")

    assert (response.status_code, response.content) == (200, b"ok\n")


@pytest.mark.django_db
def test_readyz_is_ready_with_every_migration_and_a_worker(client: Client) -> None:
    a_worker()

    response = client.get("/readyz")

    every = {"database": "ok", "migrations": "ok", "worker": "ok"}
    assert (response.status_code, response.json()) == (200, {"ready": True, "checks": every})


@pytest.mark.django_db
def test_readyz_says_that_no_worker_was_seen_within_the_last_minute(client: Client) -> None:
    a_worker()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workers SET seen_at = statement_timestamp() - interval '61 seconds'")

    response = client.get("/readyz")

    assert response.status_code == 503
    assert "s ago: start run_sender" in response.json()["reason"]
    assert response.json()["checks"]["migrations"] == "ok"


@pytest.mark.django_db
def test_a_worker_that_ended_in_good_order_is_not_alive(client: Client) -> None:
    worker = uuid4()
    workers.beat(id=worker, name="worker-1", streams=[], doing={})
    workers.end(worker)

    assert client.get("/readyz").status_code == 503


@pytest.mark.django_db
def test_readyz_says_what_is_missing(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'events'")

    response = client.get("/readyz")

    assert response.status_code == 503
    assert "migrate" in response.json()["reason"]
    assert response.json()["checks"]["worker"] == "not asked"


@pytest.mark.django_db
def test_the_figures_are_those_of_the_database(client: Client) -> None:
    a_worker()
    tallies.count("answer:200", stream="receipts", times=2, mails=2)
    tallies.count("answer:429", stream="receipts")
    tallies.count("webhook:delivered", times=3)
    tallies.count("refused:signature", times=4)
    Stream.objects.filter(name="receipts").update(paused=True)

    lines = client.get("/metrics").content.decode().splitlines()

    assert {
        'mailkoenig_sent_total{stream="receipts"} 2.0',
        'mailkoenig_sent_total{stream="campaigns"} 0.0',
        'mailkoenig_provider_answers_total{answer="429",stream="receipts"} 1.0',
        'mailkoenig_webhook_events_total{type="delivered"} 3.0',
        'mailkoenig_webhook_refusals_total{reason="signature"} 4.0',
        'mailkoenig_oldest_ready_age_seconds{stream="receipts"} 0.0',
        'mailkoenig_stream_paused{stream="receipts"} 1.0',
        "mailkoenig_workers_alive 1.0",
    } <= set(lines)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"REMOTE_ADDR": "127.0.0.1"}, 200),
        ({"REMOTE_ADDR": "::1"}, 200),
        ({"REMOTE_ADDR": "192.0.2.7"}, 401),
        ({"REMOTE_ADDR": ""}, 401),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "192.0.2.7"}, 401),
        ({"REMOTE_ADDR": "192.0.2.7", "HTTP_AUTHORIZATION": "Bearer s3cret"}, 200),
        (
            {"REMOTE_ADDR": "", "HTTP_X_FORWARDED_FOR": "192.0.2.7", "HTTP_AUTHORIZATION": "Bearer s3cret"},
            200,
        ),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_AUTHORIZATION": "Bearer guess"}, 401),
        ({"REMOTE_ADDR": "192.0.2.7", "HTTP_AUTHORIZATION": "Basic s3cret"}, 401),
    ],
)
def test_the_figures_need_a_token_or_a_network(
    client: Client, settings: Settings, asked: dict[str, str], status: int
) -> None:
    settings.METRICS_TOKEN = "s3cret"

    assert client.get("/metrics", **asked).status_code == status  # type: ignore[arg-type]  # headers by their names


@pytest.mark.django_db
def test_without_a_token_that_is_set_no_token_fits(client: Client) -> None:
    asked = {"REMOTE_ADDR": "192.0.2.7", "HTTP_AUTHORIZATION": "Bearer "}

    assert client.get("/metrics", **asked).status_code == 401  # type: ignore[arg-type]  # headers by their names
