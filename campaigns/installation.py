"""Nothing is sent from a restored or copied database until a person confirms: it does not know what has gone out since."""

import fcntl
import json
import logging
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from campaigns.sql import identity
from mailkoenig.lib import audit

logger = logging.getLogger(__name__)

BEAT_EVERY = 10.0


def difference(known: identity.Known, *, server: str, beats_outside: int) -> str:
    """Say how this database differs from the one that last sent; empty where it is the same."""
    if known.held_reason:
        return known.held_reason
    if known.server != server:
        return "This database was copied or restored: it last sent from another server."
    if known.beats < beats_outside:
        return "This database was restored from a backup: it has forgotten what was sent since."
    return ""


class Gate:
    """Says whether anything may be sent; looks at the database each time it is asked, and counts up while it is open."""

    def __init__(self, *, file: Path | None = None) -> None:
        self.file = file or settings.INSTANCE_FILE
        self.beaten_at = float("-inf")
        self.said = ""

    def reason(self) -> str:
        """Return why nothing may be sent; empty when all is well."""
        server = identity.server()
        # Read before the database: another worker may count up in between, and must not look like a restore.
        outside = remembered(self.file)
        known = identity.known()
        if known is None:
            note_first_start(file=self.file)
            return ""
        found = difference(known, server=server, beats_outside=outside.get(known.server, 0))
        if found and found != known.held_reason:
            identity.hold(found)
        if found and found != self.said:
            logger.error("nothing is sent: run 'manage.py confirm_restore'", extra={"reason": found})
        self.said = found
        if not found and time.monotonic() - self.beaten_at >= BEAT_EVERY:
            self.beat(server)
        return found

    def beat(self, server: str) -> None:
        """Count up in the database first, then outside of it: what is outside is never ahead by itself."""
        beats = identity.beat()
        if beats is not None:
            remember(self.file, server, beats)
            self.beaten_at = time.monotonic()


def note_first_start(*, file: Path | None = None) -> None:
    """Write down which server this is, if nobody has yet."""
    server = identity.server()
    if identity.known() is None and identity.first_start(server):
        remember(file or settings.INSTANCE_FILE, server, 0)


def confirm(*, by: str, file: Path | None = None) -> None:
    """Let sending go on from what this database knows."""
    path = file or settings.INSTANCE_FILE
    server = identity.server()
    identity.first_start(server)
    known = identity.known()
    outside = remembered(path)
    most = max([outside.get(server, 0), outside.get(known.server, 0) if known else 0])
    identity.skip_ids()
    audit.note(on="all sending", what="Confirmed after a restore: sending goes on.", by=by)
    remember(path, server, identity.confirm(server=server, beats=most, by=by))


def remembered(path: Path) -> dict[str, int]:
    """Return the counts that are kept outside the database, by server; empty where there are none."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return {str(server): int(beats) for server, beats in found.items()} if isinstance(found, dict) else {}


def remember(path: Path, server: str, beats: int) -> None:
    """Keep a count outside the database; without a place to write, a restore on this host may go unnoticed."""
    new = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Workers of other databases on this host write here too; none may write back what another has just replaced.
        with path.with_name(f".{path.name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            new.write_text(json.dumps({**remembered(path), server: beats}))
            new.replace(path)
    except OSError as error:
        logger.warning("can't keep the count outside the database", extra={"error": type(error).__name__})
        with suppress(OSError):
            new.unlink()
