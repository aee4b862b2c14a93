"""`make demo` on a database that has seen it before, and on one where it must not run."""

import pytest

from campaigns.models import Campaign
from tests.factories import CampaignFactory, RecipientFactory
from tests.processes import manage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_it_may_be_repeated_and_the_books_balance_each_time() -> None:
    for run in (1, 2):
        done = manage("demo", "--exit", "--recipients", "200", timeout=180)

        assert done.returncode == 0, done.stderr
        rows = {
            line.strip("│ ").split("│")[0].strip(): line for line in done.stdout.splitlines() if "│" in line
        }
        for name in ("selected", "accepted", "accepted, as the provider counts"):
            assert rows[name].strip("│ ").split()[-1] == "200", rows[name]
        assert f"Demo news {run}" in done.stdout
        assert "The books balance" in done.stdout
    assert set(Campaign.objects.values_list("name", "status")) == {
        ("Demo news 1", "sent"),
        ("Demo news 2", "sent"),
    }


@pytest.mark.parametrize("status", ["sending", "scheduled"])
def test_it_refuses_where_a_real_campaign_is_in_motion(status: str) -> None:
    campaign = CampaignFactory.create(name="Spring sale", status="draft")
    person = RecipientFactory.create(campaign=campaign)
    Campaign.objects.update(status=status, scheduled_at="2100-01-01T00:00Z")

    done = manage("demo", "--exit", "--recipients", "10", timeout=60)

    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "Spring sale" in done.stderr
    person.refresh_from_db()
    assert person.status == "pending"
    assert Campaign.objects.count() == 1
