"""The simulated Mailgun: one object to start and stop, in a test or behind its command."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from mailkoenig.simulator.domains import Registrations
from mailkoenig.simulator.eventlog import EventLog
from mailkoenig.simulator.fates import Rates, named_outcomes
from mailkoenig.simulator.faults import Fault, Script
from mailkoenig.simulator.happenings import Happenings
from mailkoenig.simulator.http import Server
from mailkoenig.simulator.lists import Lists
from mailkoenig.simulator.messages import MessagesEndpoint
from mailkoenig.simulator.pages import Pages
from mailkoenig.simulator.provider import Keys, ProviderApi
from mailkoenig.simulator.records import Call, Copy, Message
from mailkoenig.simulator.routes import Router
from mailkoenig.simulator.scripting import ScriptApi
from mailkoenig.simulator.store import Store
from mailkoenig.simulator.tally import Duplicate, Tally
from mailkoenig.simulator.webhooks import Habits, Poster


class Simulator:
    """A Mailgun on loopback: accepts, remembers, misbehaves by script, reports events. A context manager.

    Memory: a call is one small object, its content lies in a temporary file that vanishes with the process, and
    events are made when they are read or posted.
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
        webhook_url: str | None = None,
        habits: Habits | None = None,
        rates: Rates | None = None,
        outcomes: Mapping[str, str] | None = None,
        pace: float = 0.05,
        log_delay: float = 0.0,
        log_shuffle: float = 0.0,
        latency: float | tuple[float, float] = 0.0,
        faults: Sequence[Fault] = (),
        seed: int = 0,
        on_accept: Callable[[Message], None] | None = None,
        signal_file: Path | None = None,
        keep_bodies: bool = True,
        largest_variables: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Set everything up; nothing listens before start().

        outcomes: address to silent, bounced, deferred, delivered, opened, clicked, unsubscribed or complained.
        pace: seconds from one kind of event to the next. log_delay, log_shuffle: seconds until the events API shows one.
        largest_variables: bytes of one recipient's variables above which they are lost.
        """
        self.host, self.port = host, port
        self.webhook_url = webhook_url
        self.on_accept = on_accept
        self.signal_file = signal_file
        self.script = Script(faults)
        self.domain_states: dict[str, str] = {}
        """Domain to unverified or disabled; every other is active."""
        self.registrations = Registrations()
        self.store = Store(keep_bodies=keep_bodies, largest_variables=largest_variables, clock=clock)
        self.tally = Tally(self.store)
        self.happenings = Happenings(
            self.store, rates or Rates(), named_outcomes(outcomes or {}), seed=seed, pace=pace
        )
        self.log = EventLog(self.happenings, clock=clock, delay=log_delay, shuffle=log_shuffle)
        self.poster = Poster(
            self.happenings,
            targets=self._targets,
            signing_key=signing_key,
            habits=habits or Habits(),
            clock=clock,
        )
        self.endpoint = MessagesEndpoint(
            store=self.store, script=self.script, accepted=self._accepted, latency=latency, seed=seed
        )
        self._api = ProviderApi(
            script=self.script,
            endpoint=self.endpoint,
            log=self.log,
            lists=Lists(self.store.suppressions),
            registrations=self.registrations,
            known=domains,
            states=self.domain_states,
            keys=Keys(account=api_key, sending=sending_key),
            clock=clock,
        )
        self._server: Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address to use as MAILGUN_API_URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def start(self) -> "Simulator":
        """Listen; with port 0 the system picks one."""
        self._server = Server((self.host, self.port), Router(self._api, ScriptApi(self), Pages(self)))
        self.port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="simulator", daemon=True
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening and posting, and end every connection."""
        if self._server is not None and self._thread is not None:
            self._server.close()
            self._thread.join(timeout=5)
            self._server = self._thread = None
        self.poster.stop()
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
        """Return who got the same mail more than once, as tally.sameness has it; `by` names another key."""
        return self.tally.duplicates_by(by) if by else self.tally.duplicates()

    @property
    def faults(self) -> list[Fault]:
        """The rules that are not used up; assign to replace them."""
        return self.script.faults

    @faults.setter
    def faults(self, faults: Sequence[Fault]) -> None:
        self.script.set(faults)

    def fault(self, fault: Fault) -> None:
        """Append a rule to the script."""
        self.script.add(fault)

    def drain(self, timeout: float = 30.0) -> bool:
        """Wait until every webhook so far was posted and answered or given up; say whether it was."""
        return self.poster.drain(timeout)

    def totals(self) -> Mapping[str, object]:
        """Return the counts that are known without looking at every recipient."""
        calls = self.store.calls
        return {
            "accepted": self.accepted,
            "messages": len(self.store.messages),
            "calls": len(calls),
            "calls_accepted": sum(call.accepted for call in calls),
            "webhooks": dict(self.poster.answers),
            "webhooks_outstanding": self.poster.outstanding,
        }

    def reset(self) -> None:
        """Forget what was accepted, the lists, the registered webhooks and the script."""
        self.poster.forget()
        self.script.set([])
        self.store.clear()
        self.tally.clear()
        self.domain_states.clear()
        self.registrations.clear()

    def _targets(self, domain: str, kind: str) -> Sequence[str]:
        """Return where an event is posted to, each address once."""
        registered = self.registrations.targets(domain, kind)
        return list(dict.fromkeys([self.webhook_url, *registered] if self.webhook_url else registered))

    def _accepted(self, message: Message) -> None:
        """Tell whoever waits for an acceptance, before the answer goes out."""
        if self.webhook_url or self.registrations.has_any(message.domain):
            self.poster.schedule(message)
        if self.signal_file is not None:
            with self.signal_file.open("a") as file:
                file.write(f"{message.number} {message.message_id} {message.recipients}\n")
        if self.on_accept is not None:
            self.on_accept(message)
