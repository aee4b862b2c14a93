"""A small HTTP/1.1 server whose answers may also be late, cut, dripping or missing."""

import socket
import socketserver
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import orjson

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
LARGEST_READ = 256 * 1024 * 1024


class Manner(StrEnum):
    """How an answer goes over the wire."""

    WHOLE = "whole"
    CUT = "cut"  # half of the body, then the connection closes
    DRIP = "drip"  # headers, then one byte of the body every so many seconds, without end
    DRIP_HEADERS = "drip_headers"  # headers without end
    SILENT = "silent"  # nothing, until the client gives up or the time is over
    DROP = "drop"  # nothing, and the connection closes


@dataclass(slots=True)
class Reply:
    """An answer, and how it is given."""

    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    headers: Sequence[tuple[str, str]] = ()
    manner: Manner = Manner.WHOLE
    seconds: float = 0.0
    """DRIP: between two bytes; SILENT: before the connection closes, 0 for never."""


@dataclass(slots=True)
class Request:
    """What a client asks; the body is read from the wire when it is first wanted."""

    method: str
    path: str
    """Percent-encoded, as it came."""
    query: Mapping[str, Sequence[str]]
    headers: "Message[str, str]"
    host: str
    read: Callable[[], bytes]
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def parts(self) -> list[str]:
        """The path's pieces, decoded."""
        return [unquote(part) for part in self.path.split("/") if part]

    def get(self, name: str, default: str = "") -> str:
        """Return the last value of a query parameter."""
        values = self.query.get(name)
        return values[-1] if values else default


def json_reply(value: object, status: int = 200) -> Reply:
    """Answer with JSON."""
    return Reply(status, orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS))


def text_reply(text: str, status: int = 200) -> Reply:
    """Answer with plain text."""
    return Reply(status, text.encode(), TEXT)


class Handler(BaseHTTPRequestHandler):
    """One connection: hands each request to the server's application."""

    protocol_version = "HTTP/1.1"
    server_version = "simulated-mailgun"
    sys_version = ""
    disable_nagle_algorithm = True
    timeout = 600
    server: "Server"

    def handle_one_request(self) -> None:
        """Serve one request; a client that goes away is no error of ours."""
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def serve(self) -> None:
        """Answer one request."""
        self.body: bytes | None = None
        url = urlsplit(self.path)
        request = Request(
            method=self.command,
            path=url.path,
            query=parse_qs(url.query, keep_blank_values=True),
            headers=self.headers,
            host=self.headers.get("Host") or "{}:{}".format(*self.server.server_address[:2]),
            read=self.read_body,
            stopping=self.server.stopping,
        )
        reply = self.server.application(request)
        if self.body is None and reply.manner is not Manner.DROP:
            self.read_body()
        self.transmit(reply)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = serve

    def read_body(self) -> bytes:
        """Read the body once; one that is far too long is read away and counted as its first megabytes."""
        if self.body is None:
            if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
                self.body = self.read_chunks()
            else:
                length = int(self.headers.get("Content-Length") or 0)
                if length > LARGEST_READ:
                    self.close_connection = True
                    length = LARGEST_READ
                self.body = self.rfile.read(length)
        return self.body

    def read_chunks(self) -> bytes:
        """Read a body of chunks."""
        chunks = []
        while size := int(self.rfile.readline(64).split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline(8)
        while self.rfile.readline(4096).strip():
            pass
        return b"".join(chunks)

    def transmit(self, reply: Reply) -> None:
        """Put the answer on the wire in its manner."""
        manner = reply.manner
        if manner in (Manner.WHOLE, Manner.CUT, Manner.DRIP):
            whole = manner is Manner.WHOLE
            body = reply.body if whole else reply.body[: len(reply.body) // 2] * (manner is Manner.CUT)
            head = self.head(reply, length=len(reply.body) if manner is not Manner.DRIP else 1 << 30)
            self.wfile.write(head if self.command == "HEAD" else head + body)
            self.close_connection = self.close_connection or not whole
        if manner in (Manner.DRIP, Manner.DRIP_HEADERS):
            self.drip(reply)
        if manner is Manner.SILENT:
            self.server.stopping.wait(reply.seconds or None)
        if manner is not Manner.WHOLE:
            self.close_connection = True
            self.abort()

    def head(self, reply: Reply, *, length: int) -> bytes:
        """Return the status line and the headers."""
        phrase = self.responses.get(reply.status, ("Status", ""))[0]
        lines = [
            f"HTTP/1.1 {reply.status} {phrase}",
            f"Date: {self.date_time_string()}",
            f"Content-Type: {reply.content_type}",
            f"Content-Length: {length}",
            *(f"{name}: {value}" for name, value in reply.headers),
        ]
        if self.close_connection:
            lines.append("Connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")

    def drip(self, reply: Reply) -> None:
        """Send one byte after the other until the client goes away or the server stops."""
        if reply.manner is Manner.DRIP_HEADERS:
            self.wfile.write(f"HTTP/1.1 {reply.status} OK\r\nContent-Type: {reply.content_type}\r\n".encode())
        while not self.server.stopping.wait(reply.seconds or 1.0):
            self.wfile.write(b"X-Wait: 1\r\n" if reply.manner is Manner.DRIP_HEADERS else b" ")

    def abort(self) -> None:
        """Close the connection now, not when the thread ends."""
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the list of calls is the log."""


class Server(ThreadingHTTPServer):
    """Listens on one address; stopping it ends every connection."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], application: Callable[[Request], Reply]) -> None:
        self.application = application
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        """Bind without asking the name service who we are."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection, and remember it meanwhile."""
        with self._lock:
            self._open[request] = threading.current_thread()
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._open.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that the client tore is no error; anything else is shown."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def close(self) -> None:
        """Stop listening and end every connection."""
        self.stopping.set()
        self.shutdown()
        self.server_close()
        with self._lock:
            connections = dict(self._open)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in connections.values():
            thread.join(timeout=5)
