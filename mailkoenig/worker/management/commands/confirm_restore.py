"""After a restore: let sending go on."""

import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db.models import QuerySet

from campaigns import installation
from campaigns.models import Campaign
from events import poller
from mailkoenig.lib.command import UserError, operator
from mailkoenig.providers.mailgun.log import MailgunLog


class Command(BaseCommand):
    help = (
        "After this database was restored from a backup or copied, nothing is sent until this is run: the database may "
        "have forgotten mail that went out since. Without --yes it only says how things stand; with it, Mailgun's log is "
        "read first, so that the database remembers what it can."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--yes", action="store_true", help="let sending go on from what this database knows"
        )
        parser.add_argument(
            "--without-log", action="store_true", help="go on even where Mailgun's log can't be read"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        reason = installation.Gate().reason()
        if not reason:
            self.stdout.write("Nothing is held: this is the database that last sent.")
            return
        waiting = Campaign.objects.filter(status__in=["sending", "scheduled"])
        self.stdout.write(reason)
        for campaign in waiting:
            self.stdout.write(f"  {campaign.status:<10} {campaign.pk:>6}  {campaign.name}")
        if not options["yes"]:
            raise UserError(
                "Cancel or pause above what must not go on (who got it since the backup, and is not in Mailgun's log, "
                "would get it again), then run 'manage.py confirm_restore --yes'."
            )
        if not options["without_log"]:
            self.remember(waiting)
        installation.confirm(by=operator())
        self.stdout.write(f"Confirmed: {waiting.count()} campaigns go on.")

    def remember(self, waiting: QuerySet[Campaign]) -> None:
        """Read Mailgun's log up to now. Raises UserError where that can't be done for what would go on."""
        anyway = "Mend that and run this again, or add --without-log: who got it since the backup may then get it again."
        if not settings.MAILGUN_API_KEY:
            raise UserError(f"There is no MAILGUN_API_KEY to read Mailgun's log with. {anyway}")
        log = MailgunLog()
        self.stdout.write("Reading Mailgun's log for what was sent since the backup.")
        unread = {left.domain: left.finding for left in poller.catch_up(log, wait=threading.Event().wait)}
        log.close()
        for domain in sorted(unread.keys() & set(waiting.values_list("domain__name", flat=True))):
            raise UserError(f"The log of {domain} can't be read: {unread[domain]} {anyway}")
        overlap = f"{settings.EVENTS_POLL_OVERLAP / 60:g} minutes"
        self.stdout.write(
            f"Mailgun's log is read up to now. It may show late what was sent in the last {overlap}: if something was, "
            "pause its campaign until then."
        )
