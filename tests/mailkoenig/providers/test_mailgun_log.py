"""Whatever the events API does, the reader of it comes back with an answer or says that there is none."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from pytest_django.fixtures import Settings

from mailkoenig.providers.mailgun.log import LogUnreadable, MailgunLog
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.server import Simulator

SINCE = datetime.now(UTC) - timedelta(hours=1)


@pytest.fixture
def log(simulator: Simulator, settings: Settings) -> Iterator[MailgunLog]:
    settings.MAILGUN_READ_TIMEOUT = settings.MAILGUN_CALL_TIMEOUT = 0.4
    reader = MailgunLog()
    yield reader
    reader.close()


@pytest.mark.parametrize(
    "fault",
    [
        Fault("cut", on="events"),
        Fault("drop", on="events"),
        Fault("hang", on="events"),
        Fault("drip", on="events", seconds=0.05),
        Fault("drip", on="events", seconds=0.05, part="headers"),
        Fault("html", on="events"),
        Fault("truncated", on="events"),
        Fault("redirect", on="events"),
        Fault("answer", on="events", body={"items": 7}),
    ],
    ids=lambda fault: f"{fault.action}-{fault.part}",
)
def test_an_answer_that_is_no_page_is_said_in_time(
    log: MailgunLog, simulator: Simulator, fault: Fault
) -> None:
    simulator.fault(fault)
    began = datetime.now(UTC)

    with pytest.raises(LogUnreadable):
        list(log.events("mg.example.com", begin=SINCE))

    assert datetime.now(UTC) - began < timedelta(seconds=5)


def test_pages_end_with_an_empty_one(log: MailgunLog) -> None:
    assert list(log.pages("mg.example.com", begin=SINCE)) == [[]]
