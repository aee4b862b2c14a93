"""API tokens from the command line."""

import getpass
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.timezone import localtime

from campaigns.models import Stream
from mailkoenig.api import services
from mailkoenig.api.models import ApiToken
from mailkoenig.lib.command import UserError


class Command(BaseCommand):
    help = "Make an API token, list those that there are, or revoke one. A new token is printed, this once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["create", "list", "revoke"])
        parser.add_argument(
            "name", nargs="?", default="", help="create, revoke: the token's name, such as shop"
        )
        parser.add_argument(
            "--stream",
            action="append",
            default=[],
            metavar="NAME",
            help="create: it holds this (may be repeated)",
        )
        parser.add_argument(
            "--all-streams", action="store_true", help="create: it holds all transactional streams"
        )
        parser.add_argument("--contacts", action="store_true", help="create: it holds contacts and lists")
        parser.add_argument(
            "--emergency-stop", action="store_true", help="create: it may stop all sending, and let it go on"
        )
        only = parser.add_mutually_exclusive_group()
        only.add_argument("--read-only", action="store_true", help="create: it may not write")
        only.add_argument("--write-only", action="store_true", help="create: it may not read")
        parser.add_argument(
            "--rate", type=int, default=600, metavar="N", help="create: requests a minute (600)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        name = " ".join(options["name"].split())
        if options["action"] != "list" and not name:
            raise UserError(f"{options['action']} needs the name of a token: manage.py api_token --help")
        match options["action"]:
            case "create":
                self.create(name, options)
            case "revoke":
                self.revoke(name)
            case _:
                self.show(as_json=options["json"])

    def create(self, name: str, options: dict[str, Any]) -> None:
        if not any(options[name] for name in ("stream", "all_streams", "contacts", "emergency_stop")):
            raise UserError(
                "Say what it is for: --stream NAME, --all-streams, --contacts or --emergency-stop."
            )
        if not 1 <= options["rate"] <= 100_000:
            raise UserError("--rate must be 1 to 100,000 requests a minute.")
        token = ApiToken(
            name=name[:60],
            all_streams=options["all_streams"],
            holds_contacts=options["contacts"],
            can_stop_sending=options["emergency_stop"],
            can_read=not options["write_only"],
            can_write=not options["read_only"],
            rate_per_minute=options["rate"],
        )
        secret = services.create_token(token, streams=streams(options["stream"]), by=who())
        if options["json"]:
            self.stdout.write(json.dumps({"name": token.name, "token": secret}))
            return
        self.stdout.write(secret)
        self.stderr.write(f"{token.name} {services.scope(token)}. It is not shown again.")

    def revoke(self, name: str) -> None:
        token = ApiToken.objects.filter(name=name, revoked_at=None).first()
        if token is None:
            raise UserError(f"No token named {name!r} is in use: see manage.py api_token list.")
        services.revoke_token(token, reason="On the command line.", by=who())
        self.stdout.write(f"{name} is revoked: whoever uses it gets 401 from now on.")

    def show(self, *, as_json: bool) -> None:
        found = [
            {
                "name": token.name,
                "begins_with": token.visible,
                "scope": services.scope(token),
                "last_used_at": token.last_used_at
                and localtime(token.last_used_at).isoformat(timespec="minutes"),
                "revoked": token.revoked_at is not None,
            }
            for token in ApiToken.objects.order_by("pk")
        ]
        if as_json:
            self.stdout.write(json.dumps({"tokens": found}))
            return
        for token in found:
            state = "revoked" if token["revoked"] else f"last used {token['last_used_at'] or 'never'}"
            self.stdout.write(f"{token['name']} ({token['begins_with']}…): {token['scope']}; {state}")
        if not found:
            self.stdout.write(
                "There are no API tokens. Make one: manage.py api_token create shop --stream receipts"
            )


def streams(names: list[str]) -> list[Stream]:
    """Return the streams with these names. Raises UserError."""
    found = {stream.name: stream for stream in Stream.objects.all()}
    for name in names:
        if name not in found:
            raise UserError(f"There is no stream {name!r}: choose from {', '.join(sorted(found))}.")
    return [found[name] for name in names]


def who() -> str:
    """Return the name that this stands under in the audit trail."""
    return f"{getpass.getuser()} on the command line"
