"""The emergency stop by HTTP."""

import pytest
from django.contrib.admin.models import LogEntry

from campaigns import services
from tests.mailkoenig.api.conftest import Caller, caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def watchman() -> Caller:
    return caller(can_stop_sending=True, name="watchman")


def test_a_watchman_stops_all_sending_and_lets_it_go_on(watchman: Caller) -> None:
    assert watchman("GET", "sending").json() == {
        "stopped": False,
        "stopped_at": None,
        "stopped_by": "",
        "reason": "",
    }
    stopped = watchman("POST", "sending/stop", {"reason": "Wrong prices"})

    assert stopped.status_code == 200
    assert services.stopped() is not None
    assert {"stopped": True, "stopped_by": "API token watchman", "reason": "Wrong prices"}.items() <= (
        stopped.json().items()
    )
    assert watchman("POST", "sending/stop", {"reason": "Again"}).json() == stopped.json()

    assert watchman("POST", "sending/go-on", {"reason": "Prices are right"}).json()["stopped"] is False
    assert services.stopped() is None
    assert list(LogEntry.objects.order_by("pk").values_list("change_message", flat=True))[-2:] == [
        "Stopped: Wrong prices",
        "Goes on: Prices are right",
    ]


def test_a_shop_sees_the_stop_and_can_neither_begin_nor_end_it(shop: Caller, watchman: Caller) -> None:
    watchman("POST", "sending/stop", {"reason": "Wrong prices"})

    assert shop("GET", "sending").json()["reason"] == "Wrong prices"
    for lever in ("stop", "go-on"):
        refused = shop("POST", f"sending/{lever}", {"reason": "Please"})
        assert refused.status_code == 403
        assert refused.json()["type"].endswith("#not-held")
    assert services.stopped() is not None


def test_the_stop_wants_a_reason(watchman: Caller) -> None:
    refused = watchman("POST", "sending/stop", {})

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "reason"
    assert services.stopped() is None
