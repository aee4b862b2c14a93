"""Streams from the command line: how one stands, and every lever that the admin has."""

import json
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console

from campaigns import services
from campaigns.models import Stream
from mailkoenig.lib.command import UserError, operator
from mailkoenig.lib.counting import many
from mailkoenig.monitoring import overview
from mailkoenig.monitoring.management.commands import queue_status

LIKE_THAT = "nothing was changed, it was like that already."
HELP = {
    "status": "show its four states, its limits and why it waits",
    "pause": "stop it after the calls that are open; what waits keeps its place",
    "resume": "end a pause or a drain",
    "drain": "send what it holds and take nothing new",
    "undrain": "take new mail again",
    "concurrency": "make at most so many calls at a time, over all workers; 1 is the gentlest",
    "rate": "send at most so many mails a minute, over all workers; none for no limit",
    "requeue": "try its dead letters again, all or those with these keys",
    "cancel": "take back what is ready, all or those with these keys",
    "stop-all": "stop all sending, of every stream and campaign, within one batch",
    "go-all": "end that; what is paused by itself stays paused",
}
FOR_ALL = ("stop-all", "go-all")
NEEDS_REASON = ("pause", "stop-all")


def positive(text: str) -> int:
    """Read a whole number above nothing."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def pace(text: str) -> int | None:
    """Read mails a minute, or none for no limit."""
    if text == "none":
        return None
    if text == "0":
        raise ArgumentTypeError(
            "must be at least 1, or none for no limit; to stop the stream, pause it instead"
        )
    return positive(text)


class Command(BaseCommand):
    help = (
        "Show a stream, or slow, pause, drain, requeue or cancel what goes through it. Every act takes effect with the "
        "next batch, loses nothing that it does not say, and is noted in the audit trail."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        for action, help_text in HELP.items():
            one: ArgumentParser = actions.add_parser(
                action, help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}."
            )
            if action == "status":
                one.add_argument("--json", action="store_true", help="print one JSON object")
            else:
                one.add_argument(
                    "--reason",
                    required=action in NEEDS_REASON,
                    default="",
                    metavar="TEXT",
                    help="one sentence; it is kept in the audit trail",
                )
            if action not in FOR_ALL:
                one.add_argument("name", metavar="NAME", help="the stream's name, such as receipts")
            if action == "concurrency":
                one.add_argument("calls", type=positive, metavar="CALLS", help="1 to 1000")
            if action == "rate":
                one.add_argument("mails", type=pace, metavar="MAILS", help="mails a minute, or none")
            if action in ("requeue", "cancel"):
                one.add_argument(
                    "--key", action="append", metavar="KEY", help="only this one; may be repeated"
                )
                one.add_argument("--all", action="store_true", help="all of the stream")

    def handle(self, *args: Any, **options: Any) -> None:
        action, reason, by = options["action"], options.get("reason", ""), operator()
        if action in FOR_ALL:
            self.stdout.write(everything(action, reason=reason, by=by))
            return
        stream = found(options["name"])
        if action == "status":
            self.show(stream, as_json=options["json"])
            return
        self.stdout.write(f"{stream}: {pull(action, stream, options, reason=reason, by=by)}")

    def show(self, stream: Stream, *, as_json: bool) -> None:
        (at,) = (one for one in overview.look().streams if one.name == stream.name)
        if as_json:
            self.stdout.write(json.dumps(queue_status.stream_as_json(at), default=str))
            return
        console = Console(file=self.stdout, width=queue_status.WIDTH, highlight=False, markup=False)  # type: ignore[arg-type]  # has write()
        console.print(queue_status.streams([at]))
        for line in queue_status.lines([at]):
            console.print(line)
        console.print(f"limits: {limits(stream)}")
        console.print(next_step(stream))


def found(name: str) -> Stream:
    """Return the stream of this name. Raises UserError with those that there are."""
    stream = Stream.objects.filter(name=name).first()
    if stream is None:
        names = ", ".join(Stream.objects.values_list("name", flat=True))
        raise UserError(f"There is no stream {name!r}: give one of {names}.")
    return stream


def everything(action: str, *, reason: str, by: str) -> str:
    """Stop all sending or let it go on; return what happened."""
    if action == "stop-all":
        changed = services.stop_everything(reason=reason, by=by)
        done = "All sending is stopped; what waits keeps its place. End it with: manage.py stream go-all"
    else:
        changed = services.go_on(by=by, reason=reason)
        done = "All sending goes on."
    return done if changed else f"All sending: {LIKE_THAT}"


def pull(action: str, stream: Stream, options: dict[str, Any], *, reason: str, by: str) -> str:
    """Pull one lever of a stream; return what happened."""
    name = stream.name
    match action:
        case "pause":
            changed = services.pause_stream(stream, reason=reason, by=by)
            done = f"paused; what waits keeps its place. Go on with: manage.py stream resume {name}"
        case "resume":
            resumed = services.resume_stream(stream, by=by, reason=reason)
            changed = services.undrain_stream(stream, by=by, reason=reason) or resumed
            done = "goes on and takes new mail."
        case "drain":
            changed = services.drain_stream(stream, by=by, reason=reason)
            done = f"sends what it holds and takes nothing new. Undo with: manage.py stream undrain {name}"
        case "undrain":
            changed, done = services.undrain_stream(stream, by=by, reason=reason), "takes new mail again."
        case "concurrency":
            changed = services.set_concurrency(stream, options["calls"], by=by, reason=reason)
            done = f"makes at most {many(options['calls'], 'call')} at a time, from the next batch on."
        case "rate":
            changed = services.set_rate(stream, options["mails"], by=by, reason=reason)
            pace = (
                "as many mails a minute as it can"
                if options["mails"] is None
                else f"at most {many(options['mails'], 'mail')} a minute"
            )
            done = f"sends {pace}, from the next batch on."
        case "requeue":
            return f"{many(requeue(stream, options, reason=reason, by=by), 'message')} made ready again."
        case _:
            return f"{many(cancel(stream, options, reason=reason, by=by), 'message')} cancelled."
    return done if changed else LIKE_THAT


def requeue(stream: Stream, options: dict[str, Any], *, reason: str, by: str) -> int:
    ids = chosen(stream, options)
    if ids is None:
        return services.requeue_messages(stream=stream, by=by, reason=reason)
    return services.requeue_messages(ids=ids, by=by, reason=reason)


def cancel(stream: Stream, options: dict[str, Any], *, reason: str, by: str) -> int:
    ids = chosen(stream, options)
    if ids is None:
        return services.cancel_ready(stream, by=by, reason=reason)
    return services.cancel_messages(ids, by=by, reason=reason)


def chosen(stream: Stream, options: dict[str, Any]) -> list[int] | None:
    """Return the messages that were named; None for all of the stream. Raises UserError."""
    keys, is_all = options["key"] or [], options["all"]
    if bool(keys) == is_all:
        raise UserError("Say which: --all for all of the stream, or --key KEY for one; not both.")
    if is_all:
        return None
    ids = dict(stream.messages.filter(idempotency_key__in=keys).values_list("idempotency_key", "pk"))
    for key in keys:
        if key not in ids:
            raise UserError(f"There is no message {key!r} in {stream}: nothing was done. Check the key.")
    return list(ids.values())


def limits(stream: Stream) -> str:
    """Return a stream's limits on one line."""
    rate = (
        f"{many(stream.rate_per_minute, 'mail')} a minute"
        if stream.rate_per_minute
        else "any number of mails a minute"
    )
    burst = f" in bursts of {stream.burst:,}" if stream.burst else ""
    cap = f", {stream.daily_cap:,} a day" if stream.daily_cap else ""
    quiet = (
        f", quiet {stream.quiet_from:%H:%M} to {stream.quiet_until:%H:%M} {stream.time_zone}"
        if stream.quiet_from and stream.quiet_until
        else ""
    )
    calls = f"{many(stream.concurrency, 'call')} at a time"
    return f"{calls}, {rate}{burst}{cap}{quiet}"


def next_step(stream: Stream) -> str:
    """Return what to do about it."""
    if services.stopped():
        return "Let all sending go on with: manage.py stream go-all"
    if stream.paused or stream.draining:
        return f"Let it go on with: manage.py stream resume {stream}"
    return f"Slow it with: manage.py stream concurrency {stream} 1"
