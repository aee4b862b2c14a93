"""What was counted: by the minute for those who watch, and since the beginning for Prometheus."""

from datetime import timedelta
from typing import NamedTuple

from mailkoenig.lib import db

RECENT = """
SELECT stream, name, extract(epoch FROM date_trunc('minute', statement_timestamp()) - minute)::int / 60,
       times, mails, extract(second FROM statement_timestamp())::float
FROM tallies
WHERE minute >= date_trunc('minute', statement_timestamp()) - %(span)s
ORDER BY minute
"""


class Minute(NamedTuple):
    """How often something happened in one minute, which is so many minutes ago; `second` is how old the present one is."""

    stream: str
    name: str
    ago: int
    times: int
    mails: int
    second: float


def recent(span: timedelta = timedelta(hours=1)) -> list[Minute]:
    """Return what was counted lately, the oldest first."""
    return db.fetch(Minute, RECENT, {"span": span})


TOTALS = """
SELECT stream, name, sum(times)::bigint, sum(mails)::bigint FROM tallies GROUP BY stream, name ORDER BY stream, name
"""


class Total(NamedTuple):
    """How often something has happened since the beginning."""

    stream: str
    name: str
    times: int
    mails: int


def totals() -> list[Total]:
    """Return everything that was ever counted; a few rows a minute of the last days, as older ones are folded."""
    return db.fetch(Total, TOTALS)
