"""What every test may use."""

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import connection
from pytest_django.fixtures import Settings

from mailkoenig.simulator import Simulator
from tests.factories import StreamFactory


@pytest.fixture(autouse=True)
def default_streams(request: pytest.FixtureRequest) -> Iterator[None]:
    """The streams of the first migration, also after a transactional test has emptied every table."""
    if {"db", "transactional_db", "live_server"} & set(
        request.fixturenames
    ) or request.node.get_closest_marker("django_db"):
        # An emptied database counts from nothing; what is counted outside of it must not say that it was restored.
        settings.INSTANCE_FILE.unlink(missing_ok=True)
        request.getfixturevalue("transactional_db" if needs_commits(request) else "db")
        StreamFactory.create()
        StreamFactory.create(name="receipts", kind="transactional", batch_size=1, on_unknown="hold")
        StreamFactory.create(name="password-resets", kind="transactional", batch_size=1, on_unknown="hold")
    yield


def needs_commits(request: pytest.FixtureRequest) -> bool:
    """Say whether a test works on committed rows: it uses threads, processes or a live server."""
    marker = request.node.get_closest_marker("django_db")
    return bool(marker and marker.kwargs.get("transaction")) or bool(
        {"transactional_db", "live_server"} & set(request.fixturenames)
    )


@pytest.fixture
def no_joins() -> Iterator[None]:
    """Switch the planner's other join methods off, so that a subquery with a LIMIT would be run again and again."""
    with connection.cursor() as cursor:
        for method in ("hashjoin", "mergejoin", "sort", "material", "memoize"):
            cursor.execute(f"SET enable_{method} = off")
        yield
        cursor.execute("RESET ALL")


@pytest.fixture
def simulator(settings: Settings) -> Iterator[Simulator]:
    """A Mailgun on loopback that the site sends through, with the keys of tests/environment.py; it sends no events."""
    with Simulator() as mailgun:
        settings.MAILGUN_API_URL = mailgun.url
        yield mailgun
