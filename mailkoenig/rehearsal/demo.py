"""The demo: a file of people becomes a campaign that leaves through a simulated Mailgun, and its events come back."""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import requests
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from campaigns import reports, services
from campaigns.models import Campaign, Recipient, SenderDomain
from contacts.importing.services import import_contacts
from contacts.models import ContactList
from mailkoenig.lib import db
from mailkoenig.lib.command import UserError
from mailkoenig.rehearsal import audience
from mailkoenig.rehearsal.processes import PAUSE, Cast, free_port, keys

PREFIX = "Demo "
STAFF = "demo"
RATES = {
    "bounced": 0.02,
    "deferred": 0.03,
    "opened": 0.35,
    "machine": 0.3,
    "clicked": 0.06,
    "complained": 0.001,
    "unsubscribed": 0.005,
}
LOCK = 0x6D6B64656D6F  # "mkdemo"
SUBJECT = 'News for {{ name|default:"you" }}'
PREHEADER = "What is new in {{ city|default:'your town' }}"
BODY = """# Hello {{ name|default:"there" }},

this mail was written once and reached you in a batch with many others.
{% if plan == "gold" %}
**Thank you for being a gold member.** Your gift is waiting.
{% else %}
Would you like to [become a gold member](https://www.example.com/gold?from={{ city }})?
{% endif %}

| | |
|---|---|
| Your address | {{ email }} |
| Your town | {{ city|default:"unknown" }} |

[No more of these, please]({{ unsubscribe_url }})
"""


class Books(NamedTuple):
    """What we count and what the provider counts; `problems` is empty when they agree."""

    found: reports.Engagement
    counts: Mapping[str, int]
    accepted_there: int
    problems: list[str]


@dataclass
class Demo:
    """One run; `console` shows it."""

    console: Console
    recipients: int
    data: Path

    def run(self, *, leave: bool) -> None:
        """Do all of it, then serve until interrupted, or leave at once. Raises UserError when the books do not balance."""
        call_command("migrate", verbosity=0)
        refuse_real_work()
        with Cast(logs=self.data) as cast:
            password = staff_login()
            site, mailgun = self.start(cast)
            campaign = self.prepare()
            seconds = self.send(cast, campaign)
            self.await_events(cast, campaign, mailgun)
            books = balance(campaign, mailgun)
            self.show(campaign, books, seconds)
            if books.problems:
                raise UserError(
                    f"The books do not balance: {' '.join(books.problems)} The logs are in {self.data}."
                )
            if not leave:
                self.serve(cast, site, mailgun, campaign, password)

    def start(self, cast: Cast) -> tuple[str, str]:
        """Start simulator, web server and worker; return the addresses of the first two."""
        web, provider = free_port(8000), free_port(8025)
        site, mailgun = f"http://127.0.0.1:{web}", f"http://127.0.0.1:{provider}"
        cast.environment |= {
            **keys(),
            "DEBUG": "1",
            "PUBLIC_URL": site,
            "ALLOWED_HOSTS": "*",
            "MAILGUN_API_URL": mailgun,
            "SENDER_POLL": "0.2",
        }
        rates = [part for name, rate in RATES.items() for part in (f"--{name}", str(rate))]
        cast.manage(
            "simulator",
            "run_simulator",
            "--port",
            str(provider),
            "--webhook-url",
            f"{site}/webhooks/mailgun/",
            "--latency",
            "150",
            "--pace",
            "0.2",
            "--duplicated",
            "0.02",
            "--reordered",
            "0.05",
            *rates,
        )
        cast.serve("web", web)
        cast.manage("worker", "run_sender", "--worker", "demo-worker")
        with self.console.status("Starting the simulated Mailgun, the web server and a worker"):
            cast.wait_for_port(provider, what="the simulated Mailgun")
            cast.wait_for(lambda: is_ready(site), what="the web server and the worker", within=60)
        return site, mailgun

    def prepare(self) -> Campaign:
        """Write a file of people, import it, and write a campaign to them."""
        number = 1 + Campaign.objects.filter(name__startswith=PREFIX).count()
        path = self.data / "contacts.csv"
        list_name = f"{PREFIX}readers {number}"
        while ContactList.objects.filter(name=list_name).exists():
            number += 1
            list_name = f"{PREFIX}readers {number}"
        audience.write(path, self.recipients, domain=f"run{number}.example.com")
        began = time.monotonic()
        with path.open("rb") as file:
            report = import_contacts(file, file_name=path.name, list_name=list_name)
        self.console.print(
            f"Imported {report.created:,} people from a CSV in {time.monotonic() - began:.1f} s."
        )
        domain, _ = SenderDomain.objects.get_or_create(name="mg.example.com")
        campaign = Campaign.objects.create(
            name=f"{PREFIX}news {number}",
            subject=SUBJECT,
            preheader=PREHEADER,
            body=BODY,
            from_name="Example Shop",
            from_email="news@mg.example.com",
            domain=domain,
        )
        campaign.lists.set(ContactList.objects.filter(name=list_name))
        return campaign

    def send(self, cast: Cast, campaign: Campaign) -> float:
        """Start the campaign and watch it leave; return the seconds that took."""
        began = time.monotonic()
        services.start(campaign)
        with self.progress() as progress:
            bar = progress.add_task("Accepted", total=self.recipients)
            while campaign.status == Campaign.Status.SENDING:
                cast.check()
                progress.update(bar, completed=reports.engagement(campaign.pk).accepted)
                PAUSE.wait(0.1)
                campaign.refresh_from_db()
                if time.monotonic() - began > 120 + self.recipients / 200:
                    raise UserError(
                        f"The campaign did not end in time: {reports.counts(campaign.pk)}; look into {self.data}."
                    )
            progress.update(bar, completed=reports.engagement(campaign.pk).accepted)
        if campaign.status != Campaign.Status.SENT:
            raise UserError(f"The campaign is {campaign.status}: {campaign.status_reason}")
        return time.monotonic() - began

    def await_events(self, cast: Cast, campaign: Campaign, mailgun: str) -> None:
        """Wait until every event has come back."""
        accepted = reports.engagement(campaign.pk).accepted
        deadline = time.monotonic() + 60 + self.recipients / 50
        with self.progress() as progress:
            bar = progress.add_task("Events back", total=accepted)
            while waiting := Recipient.objects.filter(
                campaign=campaign, status=Recipient.Status.SENT
            ).count() or outstanding(mailgun):
                cast.check()
                settled = (
                    accepted
                    - Recipient.objects.filter(campaign=campaign, status=Recipient.Status.SENT).count()
                )
                progress.update(bar, completed=settled)
                if time.monotonic() > deadline:
                    raise UserError(f"{waiting:,} events did not come back in time; look into {self.data}.")
                PAUSE.wait(0.25)
            progress.update(bar, completed=accepted)

    def progress(self) -> Progress:
        """Return a progress bar."""
        return Progress(
            TextColumn("{task.description:<12}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self.console,
        )

    def show(self, campaign: Campaign, books: Books, seconds: float) -> None:
        """Print the final table."""
        found = books.found
        table = Table(title=campaign.name, show_header=False)
        for name, value in {
            "selected": f"{found.selected:,}",
            "accepted": f"{found.accepted:,}",
            "accepted, as the provider counts": f"{books.accepted_there:,}",
            "delivered": f"{books.counts['delivered'] + books.counts['unsubscribed'] + books.counts['complained']:,}",
            "bounced": f"{books.counts['bounced']:,}",
            "opened by people": f"{found.opened:,}",
            "opened by machines": f"{found.machine_opened:,}",
            "clicked": f"{found.clicked:,}",
            "unsubscribed": f"{books.counts['unsubscribed']:,}",
            "complained": f"{books.counts['complained']:,}",
            "seconds": f"{seconds:.1f}",
            "mails a second": f"{found.accepted / seconds:,.0f}",
        }.items():
            table.add_row(name, value, style=None)
        table.columns[1].justify = "right"
        self.console.print(table)
        if not books.problems:
            self.console.print("The books balance: everybody once, nobody lost.")

    def serve(self, cast: Cast, site: str, mailgun: str, campaign: Campaign, password: str) -> None:
        """Show where to look, and go on until interrupted."""
        self.console.print(
            f"\n  Admin      {site}/admin/   user {STAFF}, password {password}", highlight=False
        )
        self.console.print(
            f"  Campaign   {site}/admin/campaigns/campaign/{campaign.pk}/change/", highlight=False
        )
        self.console.print(f"  The mails  {mailgun}/   as their readers see them", highlight=False)
        self.console.print(f"  Logs       {self.data}\n\nCtrl-C ends it.", highlight=False)
        while True:
            cast.check()
            PAUSE.wait(0.5)


def refuse_real_work() -> None:
    """Raise UserError where the demo's worker could touch a real campaign, or another demo runs."""
    if not db.value("SELECT pg_try_advisory_lock(%(lock)s)", {"lock": LOCK}):
        raise UserError("A demo is already running on this database: end it first.")
    Campaign.objects.filter(name__startswith=PREFIX, status__in=["sending", "scheduled"]).update(
        status=Campaign.Status.CANCELLED, status_reason="An earlier demo was interrupted."
    )
    real = Campaign.objects.filter(status__in=["sending", "scheduled"]).first()
    if real is not None:
        raise UserError(
            f"This database has a real campaign in motion ({real.name}): the demo would send it to a simulator. Use another database."
        )


def staff_login() -> str:
    """Make the demo's staff login with a new password and return it."""
    password = secrets.token_urlsafe(9)
    user, _ = User.objects.get_or_create(username=STAFF, defaults={"is_staff": True, "is_superuser": True})
    user.set_password(password)
    user.save()
    return password


def is_ready(site: str) -> bool:
    """Say whether the site answers, has its tables and a worker."""
    try:
        return requests.get(f"{site}/readyz", timeout=5).status_code == 200
    except requests.RequestException:
        return False


def outstanding(mailgun: str) -> int:
    """Return how many webhooks the simulator has not posted yet."""
    found: int = totals(mailgun)["webhooks_outstanding"]
    return found


def totals(mailgun: str) -> dict[str, int]:
    """Return what the simulator counts."""
    found: dict[str, int] = requests.get(f"{mailgun}/simulator/accepted.json", timeout=30).json()
    return found


def balance(campaign: Campaign, mailgun: str) -> Books:
    """Compare our books with the provider's, which was started for this campaign alone."""
    counts = reports.counts(campaign.pk)
    found = reports.engagement(campaign.pk)
    there = totals(mailgun)
    problems = []
    if found.accepted != there["distinct"]:
        problems.append(f"We count {found.accepted:,} accepted people, the provider {there['distinct']:,}.")
    if there["accepted"] != there["distinct"] or there["duplicates"]:
        problems.append(f"The provider took {there['accepted'] - there['distinct']:,} mails twice.")
    if found.selected != sum(counts.values()):
        problems.append("Somebody is in no state.")
    left = {
        status: counts[status]
        for status in ("pending", "sending", "unknown", "failed", "skipped")
        if counts[status]
    }
    if left:
        problems.append(f"Not everybody got it: {left}.")
    return Books(found, counts, there["accepted"], problems)


def data_folder() -> Path:
    """Return where the demo keeps its file and its logs."""
    folder: Path = settings.BASE_DIR / ".data" / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def close() -> None:
    """Give back the lock of the demo."""
    connection.close()
