"""What the client reads from an answer beside its body."""

from datetime import UTC, datetime, timedelta

import pytest

from mailkoenig.providers.mailgun.client import their_time


def test_the_providers_clock_is_the_one_that_counts() -> None:
    headers = [("Server", "nginx"), ("date", "Mon, 02 Nov 2026 09:00:00 GMT")]

    assert their_time(headers) == datetime(2026, 11, 2, 9, tzinfo=UTC)


@pytest.mark.parametrize("text", [None, "", "soon", "Mon, 99 Nov 2026 09:00:00 GMT"])
def test_ours_counts_where_it_does_not_say(text: str | None) -> None:
    headers = [] if text is None else [("Date", text)]

    assert abs(their_time(headers) - datetime.now(UTC)) < timedelta(seconds=5)
