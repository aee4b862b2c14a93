"""How often something happened, by stream and minute; written last in a transaction, as others wait for the row."""

from datetime import timedelta
from uuid import UUID

from mailkoenig.lib import db

ANSWER = """
WITH answered AS (
    UPDATE send_batches SET answer_class = %(answer_class)s WHERE id = %(batch)s RETURNING stream_id, state, accepted
)
INSERT INTO tallies AS t (stream, name, minute, times, mails)
SELECT s.name, 'answer:' || %(answer_class)s, date_trunc('minute', statement_timestamp()), 1,
       CASE WHEN answered.state = 'accepted' THEN answered.accepted ELSE 0 END
FROM answered JOIN streams AS s ON s.id = answered.stream_id
ON CONFLICT (minute, stream, name) DO UPDATE SET times = t.times + 1, mails = t.mails + excluded.mails
"""


def answer(*, batch: UUID, answer_class: str) -> int:
    """Note what class of answer a batch got, and count it and the mails that it accepted."""
    return db.execute(ANSWER, {"batch": batch, "answer_class": answer_class or "none"})


COUNT = """
INSERT INTO tallies AS t (stream, name, minute, times, mails)
VALUES (%(stream)s, %(name)s, date_trunc('minute', statement_timestamp()), %(times)s, %(mails)s)
ON CONFLICT (minute, stream, name) DO UPDATE SET times = t.times + excluded.times, mails = t.mails + excluded.mails
"""


def count(name: str, *, stream: str = "", times: int = 1, mails: int = 0) -> int:
    """Count something that happened now."""
    return db.execute(COUNT, {"name": name, "stream": stream, "times": times, "mails": mails})


FOLD = """
WITH old AS (
    DELETE FROM tallies
    WHERE minute > 'epoch' AND minute < date_trunc('minute', statement_timestamp() - %(keep)s)
    RETURNING stream, name, times, mails
)
INSERT INTO tallies AS t (stream, name, minute, times, mails)
SELECT stream, name, 'epoch', sum(times), sum(mails) FROM old GROUP BY stream, name ORDER BY stream, name
ON CONFLICT (minute, stream, name) DO UPDATE SET times = t.times + excluded.times, mails = t.mails + excluded.mails
"""


def fold(*, keep: timedelta) -> int:
    """Put what is older than `keep` into one row for each stream and name; return how many of those were written."""
    return db.execute(FOLD, {"keep": keep})
