"""The command that forgets."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models.functions import Now

from events.models import Event

pytestmark = pytest.mark.django_db


def test_prune_says_what_it_deleted_and_keeps_the_rest() -> None:
    for n, days in enumerate((1, 29, 31, 400)):
        Event.objects.create(
            provider="mailgun",
            provider_event_id=str(n),
            day="2026-01-01",
            event_type="delivered",
            raw_payload={},
            occurred_at=Now(),
            received_at=Now() - timedelta(days=days),
        )
    out = StringIO()

    call_command("prune", "--keep-days", "30", stdout=out)

    assert "2 events older than 30 days" in out.getvalue()
    assert set(Event.objects.values_list("provider_event_id", flat=True)) == {"0", "1"}


@pytest.mark.parametrize("days", ["0", "-1", "soon", "1.5", "99999999"])
def test_prune_refuses_days_that_make_no_sense(days: str) -> None:
    with pytest.raises(CommandError, match="whole number of days"):
        call_command("prune", f"--keep-days={days}")
