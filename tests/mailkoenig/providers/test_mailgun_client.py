"""What the client reads from an answer beside its body."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from pytest_django.fixtures import Settings

from mailkoenig.providers.mailgun.client import MailgunClient, their_time
from mailkoenig.providers.types import Call, Envelope, Kind
from mailkoenig.simulator import Simulator


def test_the_providers_clock_is_the_one_that_counts() -> None:
    headers = [("Server", "nginx"), ("date", "Mon, 02 Nov 2026 09:00:00 GMT")]

    assert their_time(headers) == datetime(2026, 11, 2, 9, tzinfo=UTC)


@pytest.mark.parametrize("text", [None, "", "soon", "Mon, 99 Nov 2026 09:00:00 GMT"])
def test_ours_counts_where_it_does_not_say(text: str | None) -> None:
    headers = [] if text is None else [("Date", text)]

    assert abs(their_time(headers) - datetime.now(UTC)) < timedelta(seconds=5)


def test_a_call_that_is_begun_too_late_is_not_made(settings: Settings, simulator: Simulator) -> None:
    settings.MAILGUN_CALL_TIMEOUT = -1.0  # all of its time has passed before the connection stands
    client = MailgunClient()

    outcome = client.send(
        Call(
            batch=uuid4(),
            domain="mg.example.com",
            sender="news@mg.example.com",
            subject="News",
            html="<p>Hello</p>",
            text="Hello",
            recipients=[Envelope("ida@example.com", {})],
        )
    )
    client.close()

    assert outcome.kind == Kind.NOT_MADE
    assert "not made" in outcome.reason
    assert simulator.calls == []
