"""A host whose clock is wrong goes by the database's."""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mailkoenig.lib import database_clock, db
from mailkoenig.lib.database_clock import DatabaseClock

pytestmark = pytest.mark.django_db


def shifted(by: timedelta) -> type[datetime]:
    """Return a clock that is wrong by so much."""

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]  # a plain datetime will do
            return datetime.now(tz) + by

    return Wrong


@pytest.mark.parametrize("wrong_by", [timedelta(0), timedelta(minutes=10), timedelta(minutes=-10)])
def test_it_tells_the_databases_time_whatever_ours_says(
    monkeypatch: pytest.MonkeyPatch, wrong_by: timedelta
) -> None:
    monkeypatch.setattr(database_clock, "datetime", shifted(wrong_by))

    assert abs(DatabaseClock().now() - db.now()) < timedelta(seconds=5)
    assert abs(datetime.now(UTC) - db.now()) < timedelta(minutes=1)


def test_the_database_is_asked_once_a_minute(django_assert_num_queries: Any) -> None:
    clock = DatabaseClock()

    with django_assert_num_queries(1):
        for _ in range(5):
            clock.now()


def test_a_wrong_clock_is_reported(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(database_clock, "datetime", shifted(timedelta(minutes=10)))
    monkeypatch.setattr(logging.getLogger("mailkoenig"), "propagate", True)
    caplog.set_level(logging.WARNING, logger="mailkoenig")

    DatabaseClock().now()

    assert "clock disagrees" in caplog.text
