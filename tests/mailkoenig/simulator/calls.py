"""What the simulator's tests say to it, and somebody who listens to its webhooks."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

from mailkoenig.simulator import Simulator

DOMAIN = "mg.example.com"
ACCOUNT = ("api", "key-account")
SENDING = ("api", "key-sending")
Variables = Mapping[str, Mapping[str, object]]


def fields(
    to: Sequence[str] | str = "ada@example.com", variables: Variables | None = None, /, **more: Any
) -> list[tuple[str, str]]:
    """Return the smallest call that is accepted, and more fields; None leaves one out, v_rid stands for v:rid."""
    to = more.pop("to", to)
    base = {"from": "News <news@mg.example.com>", "subject": "Hello", "text": "Hello.", **more}
    pairs = [(name.replace("v_", "v:"), value) for name, value in base.items() if value is not None]
    pairs += [("to", address) for address in ([to] if isinstance(to, str) else to)]
    if variables is not None:
        pairs.append(("recipient-variables", json.dumps(variables)))
    return pairs


def send(
    simulator: Simulator,
    to: Sequence[str] | str = "ada@example.com",
    variables: Variables | None = None,
    /,
    **more: Any,
) -> requests.Response:
    """Make a call."""
    return post(simulator, fields(to, variables, **more))


def post(simulator: Simulator, data: list[tuple[str, str]] | bytes, **more: Any) -> requests.Response:
    """Make a call with these fields."""
    url = f"{simulator.url}/v3/{DOMAIN}/messages"
    return requests.post(url, data=data, **{"auth": SENDING, "timeout": 10, "allow_redirects": False, **more})


def batch(simulator: Simulator, count: int, **more: Any) -> requests.Response:
    """Make a call in batch mode to person0@example.com and on."""
    people = [f"person{n}@example.com" for n in range(count)]
    variables = {address: {"rid": n, "name": f"Person {n}"} for n, address in enumerate(people)}
    return send(simulator, people, variables, v_rid="%recipient.rid%", **more)


def message(response: requests.Response) -> str:
    """Return the provider's words."""
    return str(response.json()["message"])


def read(simulator: Simulator, path: str, **parameters: Any) -> Any:
    """Ask the API as the account."""
    response = requests.get(f"{simulator.url}{path}", params=parameters, auth=ACCOUNT, timeout=10)
    assert response.status_code == 200, response.text
    return response.json()


def events(simulator: Simulator, **parameters: Any) -> list[Mapping[str, Any]]:
    """Read the events API to its end, as the manual says."""
    found: list[Mapping[str, Any]] = []
    page = read(
        simulator,
        f"/v3/{DOMAIN}/events",
        **{"begin": time.time() - 60, "ascending": "yes", **parameters},
    )
    while page["items"]:
        found += page["items"]
        page = requests.get(page["paging"]["next"], auth=ACCOUNT, timeout=10).json()
    return found


class Receiver:
    """A webhook that remembers what was posted to it."""

    def __init__(self, status: Callable[[Mapping[str, Any]], int]) -> None:
        self.status = status
        self.posts: list[Mapping[str, Any]] = []
        self.url = ""

    @property
    def events(self) -> list[Mapping[str, Any]]:
        """The events, in the order they came."""
        return [post["event-data"] for post in self.posts]


@contextmanager
def receiving(status: Callable[[Mapping[str, Any]], int] = lambda event: 200) -> Iterator[Receiver]:
    """Listen to webhooks; `status` says what each is answered."""
    receiver = Receiver(status)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            value = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            receiver.posts.append(value)
            self.send_response(receiver.status(value["event-data"]))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_port}/webhooks/mailgun/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
