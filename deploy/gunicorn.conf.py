"""Gunicorn's settings: `gunicorn --config deploy/gunicorn.conf.py mailkoenig.wsgi`.

What a host needs differently goes into GUNICORN_CMD_ARGS (a drop-in of the unit), which wins over this file:
GUNICORN_CMD_ARGS="--workers=4 --threads=8".
"""

import re
from typing import Any

from gunicorn.glogging import Logger

# Under systemd the socket unit hands the socket over and this is ignored.
bind = "127.0.0.1:8000"

# Two processes of four threads: a person's long import holds one thread, and webhooks go on in the others. Each thread
# keeps one database connection, so the web takes at most workers x threads of them.
worker_class = "gthread"
workers = 2
threads = 4

# A worker that has not answered its parent for this long is killed. nginx waits a little longer.
timeout = 120
# On stop and on reload, requests that are open may end within this; systemd waits a little longer.
graceful_timeout = 30
keepalive = 5

# Each worker is replaced now and then, not all at once, so that memory can't creep.
max_requests = 10_000
max_requests_jitter = 1_000

# Heartbeat files in memory: on a slow disk they would block a worker long enough to get it killed.
worker_tmp_dir = "/dev/shm"  # noqa: S108 - gunicorn makes unguessable names in it
# The interface for gunicornc wants to write in the home folder, which the unit forbids.
control_socket_disable = True

accesslog = "-"
errorlog = "-"
loglevel = "info"
# Method, path without the query, status, bytes, milliseconds: no client address, no referrer, no user agent.
access_log_format = "%(t)s %(m)s %(U)s %(s)s %(B)s bytes %(M)s ms"

# A path that is a capability by itself: whoever reads the log could unsubscribe people.
SECRET_PATH = re.compile(r"^(/unsubscribe/)[^/]+")


class AccessLog(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Gunicorn's logger without the tokens that stand in paths, nor addresses."""

    def atoms(self, *args: Any) -> dict[str, Any]:
        found: dict[str, Any] = super().atoms(*args)
        found["U"] = without_secrets(found["U"] or "")
        return found


def without_secrets(path: str) -> str:
    """Return a path as it may be logged."""
    path = SECRET_PATH.sub(r"\1-", path)
    return re.sub(r"[^/]+@[^/]+", "-", path)


logger_class = AccessLog
