"""The simulated Mailgun: one object to start and stop, in a test or behind its command."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from mailkoenig.simulator.faults import Fault, Script
from mailkoenig.simulator.http import Server
from mailkoenig.simulator.messages import MessagesEndpoint
from mailkoenig.simulator.provider import Keys, ProviderApi
from mailkoenig.simulator.records import Call, Copy, Message
from mailkoenig.simulator.routes import Router
from mailkoenig.simulator.scripting import ScriptApi
from mailkoenig.simulator.store import Store
from mailkoenig.simulator.tally import Duplicate, Tally


class Simulator:
    """A Mailgun on loopback: accepts, remembers, misbehaves by script, reports events. A context manager.

    Memory: a call is one small object; its content lies in a temporary file that vanishes with the process.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        domains: Sequence[str] | None = None,
        api_key: str = "key-account",
        sending_key: str = "key-sending",
        signing_key: str = "mail-koenig-test-signing-key",
        latency: float | tuple[float, float] = 0.0,
        faults: Sequence[Fault] = (),
        seed: int = 0,
        on_accept: Callable[[Message], None] | None = None,
        signal_file: Path | None = None,
        keep_bodies: bool = True,
        largest_variables: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.host, self.port = host, port
        self.on_accept = on_accept
        self.signal_file = signal_file
        self.script = Script(faults)
        self.store = Store(keep_bodies=keep_bodies, largest_variables=largest_variables, clock=clock)
        self.tally = Tally(self.store)
        self.domain_states: dict[str, str] = {}
        self.endpoint = MessagesEndpoint(
            store=self.store, script=self.script, accepted=self._accepted, latency=latency, seed=seed
        )
        provider = ProviderApi(
            store=self.store,
            script=self.script,
            endpoint=self.endpoint,
            domains=domains,
            states=self.domain_states,
            keys=Keys(account=api_key, sending=sending_key),
        )
        self._router = Router(provider, ScriptApi(self))
        self._server: Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address to use as MAILGUN_API_URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def start(self) -> "Simulator":
        """Listen; with port 0 the system picks one."""
        self._server = Server((self.host, self.port), self._router)
        self.port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="simulator", daemon=True
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening and end every connection."""
        if self._server is not None and self._thread is not None:
            self._server.close()
            self._thread.join(timeout=5)
            self._server = self._thread = None
        self.store.close()

    def __enter__(self) -> "Simulator":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def calls(self) -> list[Call]:
        """Every request to the messages endpoint, in order."""
        return list(self.store.calls)

    @property
    def messages(self) -> list[Message]:
        """Every accepted call, in order."""
        return list(self.store.messages)

    @property
    def accepted(self) -> int:
        """How many recipients were accepted, each time counted."""
        return self.store.accepted

    def accepted_addresses(self) -> list[str]:
        """Return every accepted recipient in order, repeated where it was accepted more than once."""
        return [address for _, _, address in self.store.copies()]

    def copies(self, address: str | None = None) -> list[Copy]:
        """Return what one reader, or everybody, got."""
        wanted = address.lower() if address is not None else None
        return [
            content.copy(message, to)
            for message, content, to in self.store.copies()
            if wanted is None or to.lower() == wanted
        ]

    def duplicates(self, by: str = "") -> list[Duplicate]:
        """Return who got the same mail more than once; `by` names another key than v:campaign, v:rid, tag, subject."""
        return self.tally.duplicates_by(by) if by else self.tally.duplicates()

    @property
    def faults(self) -> list[Fault]:
        """The rules that are not used up."""
        return self.script.faults

    @faults.setter
    def faults(self, faults: Sequence[Fault]) -> None:
        self.script.set(faults)

    def fault(self, fault: Fault) -> None:
        """Append a rule to the script."""
        self.script.add(fault)

    def totals(self) -> Mapping[str, object]:
        """Return the counts that are known without looking at every recipient."""
        calls = self.calls
        return {
            "accepted": self.accepted,
            "messages": len(self.store.messages),
            "calls": len(calls),
            "calls_accepted": sum(call.accepted for call in calls),
        }

    def reset(self) -> None:
        """Forget what was accepted, the lists and the script."""
        self.script.set([])
        self.store.clear()
        self.tally.clear()
        self.domain_states.clear()

    def _accepted(self, message: Message) -> None:
        """Tell whoever waits for an acceptance, before the answer goes out."""
        if self.signal_file is not None:
            with self.signal_file.open("a") as file:
                file.write(f"{message.number} {message.message_id} {message.recipients}\n")
        if self.on_accept is not None:
            self.on_accept(message)
