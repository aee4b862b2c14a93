"""What worker processes say of themselves, and which streams they serve."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from mailkoenig.lib import db

BEAT = """
INSERT INTO workers AS w (id, name, streams, doing, started_at, seen_at)
VALUES (%(id)s, %(name)s, %(streams)s::jsonb, %(doing)s::jsonb, statement_timestamp(), statement_timestamp())
ON CONFLICT (id) DO UPDATE SET doing = excluded.doing, seen_at = excluded.seen_at
"""


def beat(*, id: UUID, name: str, streams: Sequence[str], doing: Mapping[str, object]) -> int:
    """Say that a worker lives and what it is doing."""
    parameters = {"id": id, "name": name, "streams": json.dumps(streams), "doing": json.dumps(doing)}
    return db.execute(BEAT, parameters)


END = """
UPDATE workers SET doing = '{}', seen_at = statement_timestamp(), stopped_at = statement_timestamp() WHERE id = %(id)s
"""


def end(id: UUID) -> int:
    """Say that a worker ends in good order."""
    return db.execute(END, {"id": id})


FORGET = """
DELETE FROM workers WHERE seen_at < statement_timestamp() - %(age)s
"""


def forget(*, age: timedelta) -> int:
    """Forget workers that nobody has heard of for so long."""
    return db.execute(FORGET, {"age": age})


STREAMS = """
SELECT id, name, kind, concurrency FROM streams ORDER BY id
"""


class Served(NamedTuple):
    """A stream that a worker may serve."""

    id: int
    name: str
    kind: str
    concurrency: int


def streams() -> list[Served]:
    """Return every stream."""
    return db.fetch(Served, STREAMS)
