"""HTTP connections that can be cut from another thread: no call outlasts its deadline, however slowly an answer drips."""

import socket
import threading
import time
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection


class HeldUp(Exception):
    """The process was held up for the whole time of a call before the request went out; it did not go out."""


class Watch:
    """Cuts the connection of one call when its time is up, or when told to."""

    def __init__(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        self.connection: HTTPConnection | None = None
        self.has_connected = False
        self.has_ended = False
        self.timer = threading.Timer(seconds, self.end)
        self.timer.daemon = True
        self.timer.start()

    def attach(self, connection: HTTPConnection) -> None:
        """Note the connection of the call, and whether it stands: from then on the request may have been read.

        Raises HeldUp where it is too late to begin: a process that was frozen may have been given up meanwhile.
        """
        if time.monotonic() > self.deadline:
            raise HeldUp
        self.connection = connection
        self.has_connected = connection.sock is not None

    def end(self) -> None:
        """Cut the connection now."""
        self.has_ended = True
        connection = self.connection
        if connection is not None and connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    def cancel(self) -> None:
        """The call is over."""
        self.timer.cancel()
        self.connection = None


WATCH: ContextVar[Watch] = ContextVar("watch")


class WatchedConnection(HTTPConnection):
    def request(self, *args: Any, **kwargs: Any) -> None:
        WATCH.get().attach(self)
        super().request(*args, **kwargs)

    def connect(self) -> None:
        super().connect()
        WATCH.get().attach(self)


class WatchedTLSConnection(HTTPSConnection):
    def request(self, *args: Any, **kwargs: Any) -> None:
        WATCH.get().attach(self)
        super().request(*args, **kwargs)

    def connect(self) -> None:
        super().connect()
        WATCH.get().attach(self)


class WatchedPool(HTTPConnectionPool):
    ConnectionCls = WatchedConnection


class WatchedTLSPool(HTTPSConnectionPool):
    ConnectionCls = WatchedTLSConnection


class WatchedAdapter(HTTPAdapter):
    """Requests through connections that the WATCH of the calling thread can cut; never tries anything twice."""

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **options: Any) -> None:
        self.poolmanager = PoolManager(num_pools=connections, maxsize=maxsize, block=block, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": WatchedPool, "https": WatchedTLSPool}
