"""After a restore: let sending go on."""

import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from campaigns import installation
from campaigns.models import Campaign
from mailkoenig.lib.command import UserError


class Command(BaseCommand):
    help = (
        "After this database was restored from a backup or copied, nothing is sent until this is run: the database may "
        "have forgotten mail that went out since. Without --yes it only says how things stand."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--yes", action="store_true", help="let sending go on from what this database knows"
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
                "Cancel or pause above what must not go on (who got it since the backup would get it again), "
                "then run 'manage.py confirm_restore --yes'."
            )
        installation.confirm(by=getpass.getuser())
        self.stdout.write(f"Confirmed: {waiting.count()} campaigns go on.")
