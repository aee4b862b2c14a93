"""What a drill's case plays on: a campaign of its own, the simulated Mailgun, and real worker processes."""

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple

from django.db import connection, transaction

from campaigns import reports, services
from campaigns.models import Campaign, Message, Recipient, SenderDomain, Stream
from contacts.models import Contact, ContactList, Membership
from mailkoenig.lib import db
from mailkoenig.lib.command import UserError
from mailkoenig.rehearsal import sql
from mailkoenig.rehearsal.processes import Cast, free_port, keys
from mailkoenig.rehearsal.scratch import Scratch, environment
from mailkoenig.simulator import Simulator

# Seconds instead of minutes. A call is over before its lease is, and the log shows what came of it before the last question.
WORKER = {
    "MAILGUN_CONNECT_TIMEOUT": "1",
    "MAILGUN_READ_TIMEOUT": "2",
    "RESOLVER_WAITS": "0.3,0.6,2.5",
    "SENDER_POLL": "0.1",
    "SENDER_CONCURRENCY": "2",
    "SENDER_GRACE": "5",
    "SENDER_NICE": "0",
    "EVENTS_POLL_EVERY": "0",
    "EVENTS_POLL_OVERLAP": "60",
    "LOG_LEVEL": "INFO",
    # By which its connections to the database are known.
    "PGAPPNAME": "drill-worker",
}
LEASE = timedelta(seconds=4)
DOMAIN = "mg.example.com"
RECEIPTS_DOMAIN = "receipts.example.org"
OPEN = ("pending", "sending", "unknown")


class Broken(UserError):
    """A case did not end as it must; the message says how."""


class Books(NamedTuple):
    """What the provider counts, and what is wrong with it or with what we count; no problem when all is well."""

    people: int
    accepted: int
    twice: int
    lost: int
    calls: int
    problems: list[str]


def nothing_to_restart(mode: str) -> None:
    """Stand in where the server is not ours."""
    raise Broken("Only a server of our own can be restarted.")


class Stage:
    """One case's processes and people. A context manager that ends every process."""

    def __init__(
        self,
        *,
        scratch: Scratch,
        logs: Path,
        seed: int,
        restart: Callable[[str], None] = nothing_to_restart,
    ) -> None:
        self.scratch = scratch
        self.restart_database = restart
        self.logs = logs
        self.dice = Random(seed)  # noqa: S311 - the same seed plays the same
        self.cast = Cast(logs=logs)
        secrets = keys()
        self.simulator = Simulator(
            api_key=secrets["MAILGUN_API_KEY"],
            sending_key=secrets["MAILGUN_SENDING_KEY"],
            signing_key=secrets["MAILGUN_WEBHOOK_SIGNING_KEYS"],
            seed=seed,
            pace=0.05,
        )
        self.secrets = secrets
        self.calls_allowed = 0
        self.campaign = Campaign()
        self.people: list[str] = []

    def __enter__(self) -> "Stage":
        self.cast.__enter__()
        self.simulator.start()
        self.cast.environment |= {
            **WORKER,
            **self.secrets,
            **environment(),
            "MAILGUN_API_URL": self.simulator.url,
            "PUBLIC_URL": "http://127.0.0.1:9",
            "ALLOWED_HOSTS": "*",
            "DEBUG": "0",
            "INSTANCE_FILE": str(self.logs / "instance.json"),
        }
        return self

    def __exit__(self, *unused: object) -> None:
        self.cast.end()
        self.simulator.stop()
        connection.close()

    def prepare(self, *, people: int = 200, batch: int = 20, extra_calls: int = 4) -> None:
        """Write a campaign to so many people, in batches of so many, for which twice the calls and some more will do."""
        Stream.objects.filter(name="campaigns").update(batch_size=batch, lease=LEASE)
        audience = ContactList.objects.create(name="Everybody")
        contacts = Contact.objects.bulk_create(
            Contact(email=f"reader{n:05d}@example.com", name=f"Reader {n}") for n in range(people)
        )
        Membership.objects.bulk_create(Membership(list=audience, contact=contact) for contact in contacts)
        self.campaign = Campaign.objects.create(
            name="Drill",
            subject="News for {{ name }}",
            body="Hello {{ name }}",
            from_name="Example Shop",
            domain=SenderDomain.objects.get_or_create(name=DOMAIN)[0],
        )
        self.campaign.lists.add(audience)
        self.people += [contact.email for contact in contacts]
        self.calls_allowed += 2 * -(-people // batch) + extra_calls

    def prepare_receipts(self, *, people: int, extra_calls: int = 4) -> None:
        """Write so many receipts, from a domain of their own; each takes one call, and some more will do."""
        domain = SenderDomain.objects.get_or_create(name=RECEIPTS_DOMAIN)[0]
        Stream.objects.filter(name="receipts").update(lease=LEASE, domain=domain)
        self.people += [f"buyer{n:05d}@example.com" for n in range(people)]
        for address in self.people[-people:]:
            services.enqueue_message(
                stream="receipts",
                idempotency_key=f"receipt:{address}",
                to=address,
                subject="Your receipt",
                text="Thank you.",
            )
        self.calls_allowed += people + extra_calls

    def send(self) -> None:
        """Start the campaign."""
        services.start(self.campaign)

    def worker(self, name: str, **extra: str) -> int:
        """Start a worker and return its process id."""
        return self.cast.manage(name, "run_sender", "--worker", name, **extra).pid

    def has_begun(self, name: str) -> bool:
        """Say whether a worker works."""
        return "worker started" in (self.logs / f"{name}.log").read_text(errors="replace")

    def web(self) -> None:
        """Start the web process, and let the provider post its webhooks there."""
        port = free_port()
        self.cast.serve("web", port)
        self.cast.wait_for_port(port, what="the web server")
        self.simulator.webhook_url = f"http://127.0.0.1:{port}/webhooks/mailgun/"

    def command(self, *arguments: str, **extra: str) -> None:
        """Run a command to its end. Raises Broken when it fails."""
        process = self.cast.manage(arguments[0], *arguments, **extra)
        process.wait(60)
        self.cast.running.pop(arguments[0])
        if process.returncode:
            raise Broken(f"{' '.join(arguments)} failed: {self.cast.last_line(arguments[0])}")

    def end(self, name: str, *, by: signal.Signals = signal.SIGKILL) -> None:
        """End a process before its time."""
        self.cast.take_out(name, by=by)

    def cut_connections(self) -> int:
        """End the workers' connections to the database; return how many there were."""
        return sql.cut_connections(WORKER["PGAPPNAME"])

    @contextmanager
    def blocked_before_calls(self) -> Iterator[None]:
        """Hold the table that a worker reads last before it commits that a call begins."""
        held, release = threading.Event(), threading.Event()

        def hold() -> None:
            with transaction.atomic():
                sql.hold_suppressions()
                held.set()
                release.wait(60)
            connection.close()

        thread = threading.Thread(target=hold)
        thread.start()
        try:
            held.wait(30)
            yield
        finally:
            release.set()
            thread.join()

    def until(self, holds: Callable[[], object], *, what: str, within: float = 60) -> None:
        """Wait until something holds. Raises UserError when it takes too long or a process ends by itself."""
        self.cast.wait_for(holds, what=what, within=within)

    def finish(self, *, within: float = 90) -> None:
        """Wait until the campaign and every receipt are over."""
        self.until(self.is_over, what="the queue to end", within=within)

    def is_over(self) -> bool:
        """Say whether nobody is left to send to."""
        campaigns = Campaign.objects.exclude(status=Campaign.Status.SENT)
        return not campaigns.exists() and not Message.objects.filter(status__in=OPEN).exists()

    def receipts_are_out(self) -> bool:
        """Say whether every receipt was accepted."""
        return not Message.objects.filter(sent_at=None).exists()

    @contextmanager
    def at_acceptance(self, act: Callable[[], object], *, number: int = 1) -> Iterator[threading.Event]:
        """Do something once, after the provider took its `number`-th message and before it answers; yields what says when."""
        done = threading.Event()

        def accepted(message: object) -> None:
            if len(self.simulator.messages) >= number and not done.is_set():
                done.set()
                try:
                    act()
                finally:
                    connection.close()

        self.simulator.on_accept = accepted
        yield done
        self.simulator.on_accept = None

    def books(self) -> Books:
        """Compare what the provider took with what it should have, and with what we believe."""
        copies = Counter(self.simulator.accepted_addresses())
        wanted = len(self.people)
        twice = sum(count > 1 for count in copies.values())
        lost = len(set(self.people) - set(copies))
        calls = len(self.simulator.calls)
        problems = [*self.open_questions(), *self.wrong_beliefs()]
        if twice:
            problems.append(f"{twice} people got it more than once.")
        if lost:
            problems.append(f"{lost} people did not get it.")
        if calls > self.calls_allowed:
            problems.append(f"It took {calls} calls where {self.calls_allowed} would do.")
        return Books(wanted, sum(copies.values()), twice, lost, calls, problems)

    def open_questions(self) -> list[str]:
        """Say who still waits: nothing may be left in the queue."""
        dues = [
            due
            for jobs in (Recipient.objects, Message.objects)
            for due in jobs.filter(status__in=OPEN).values_list("next_attempt_at", flat=True)
        ]
        if not dues:
            return []
        age = max((db.now() - min(dues)).total_seconds(), 0)
        return [f"{len(dues)} people still wait, the oldest for {age:.0f} seconds."]

    def wrong_beliefs(self) -> list[str]:
        """Say where our books differ from the provider's."""
        believed = Message.objects.filter(sent_at__isnull=False).count()
        risk = Message.objects.filter(unclear_batch_id__isnull=False).count()
        if self.campaign.pk:
            believed += reports.engagement(self.campaign.pk).accepted
            risk += len(reports.at_risk(self.campaign.pk))
        found = [] if believed == len(self.people) else [f"We believe that {believed} people got it."]
        return found + ([f"{risk} people are listed as at risk."] if risk else [])
