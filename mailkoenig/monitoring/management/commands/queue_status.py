"""How the queue stands."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.utils.timezone import localtime
from rich import box
from rich.console import Console
from rich.table import Table

from mailkoenig.lib.counting import many
from mailkoenig.monitoring import live, overview, queries, rules
from mailkoenig.monitoring.overview import Overview, State, Stream, Worker

WIDTH = 100


class Command(BaseCommand):
    help = "Show what waits, what is under way, what is unclear, and why."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        at, campaigns = overview.look(), queries.campaigns_in_motion()
        notes = [*remarks(), *(found.summary for found in rules.without_worker(at))]
        if options["json"]:
            self.stdout.write(json.dumps(as_json(at, campaigns, notes), default=str))
            return
        console = Console(file=self.stdout, soft_wrap=False, highlight=False, markup=False)  # type: ignore[arg-type]  # has write()
        console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
        for note in notes:
            self.stdout.write(f"! {note}")
        console.print(streams(at.streams))
        for line in lines(at.streams):
            console.print(line)
        console.print(workers(at.workers) if at.workers else "No worker has been seen: start run_sender.")
        if campaigns:
            console.print(in_motion(campaigns))
        else:
            console.print(
                "No campaign is being sent. Start one in the admin, or with: manage.py campaign send ID"
            )


def table(*columns: str) -> Table:
    """Return an empty table; what has words to the left, what has figures to the right."""
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        found.add_column(
            column.strip(">"), justify="right" if column.startswith(">") else "left", overflow="fold"
        )
    return found


def streams(found: Sequence[Stream]) -> Table:
    """Return how each stream stands; in each state the mails, and how old the oldest is."""
    shown = table(
        "stream", "state", ">ready", ">leased", ">accepted", ">last hour", ">a minute", "last answer"
    )
    for stream in found:
        shown.add_row(
            stream.name,
            live.standing(stream)[0].lower(),
            cell(stream.ready, later=stream.later),
            *(cell(state) for state in (stream.leased, stream.accepted)),
            f"{stream.settled.mails:,}",
            f"{stream.per_minute:,.0f}",
            f"{stream.last.answer_class} {age(stream.last.answered)} ago"
            if stream.last.answer_class
            else "-",
        )
    return shown


def lines(found: Sequence[Stream]) -> Iterator[str]:
    """Return what else there is to say of a stream, a line each."""
    for stream in found:
        for wait in stream.waits:
            yield f"{stream.name} waits: {wait.text}"
        if stream.unknown.mails:
            held = (
                f"; {many(stream.held.mails, 'mail')} for a person, since {age(stream.held.oldest)}"
                if stream.held.mails
                else ""
            )
            yield f"{stream.name}: {stream.unknown.mails:,} unknown, the oldest since {age(stream.unknown.oldest)}{held}"
        if stream.dead_letters:
            yield f"{stream.name}: {many(stream.dead_letters, 'dead letter')}"
        if stream.answers:
            answers = ", ".join(f"{name} x {times:,}" for name, times in stream.answers.items())
            yield f"{stream.name}: answers within the hour: {answers}"


def workers(found: Sequence[Worker]) -> Table:
    """Return the workers of the last day."""
    shown = table("worker", "serves", "doing", ">seen")
    for worker in found:
        shown.add_row(
            worker.name, ", ".join(worker.streams) or "all", live.doing(worker), f"{age(worker.seen)} ago"
        )
    return shown


def in_motion(found: Sequence[queries.InMotion]) -> Table:
    """Return the campaigns that are being sent or paused."""
    shown = table("campaign", "state", ">ready", ">leased", ">unknown", ">oldest ready", "waits for")
    for campaign in found:
        until = f" until {localtime(campaign.held_until):%H:%M:%S %Z}" if campaign.held_until else ""
        shown.add_row(
            f"{campaign.id} {campaign.name}"[:30],
            campaign.status,
            f"{campaign.ready:,}",
            f"{campaign.leased:,}",
            f"{campaign.unknown:,}",
            age(campaign.oldest_ready),
            f"{campaign.waits_for}{until}",
        )
    return shown


def as_json(at: Overview, campaigns: Sequence[queries.InMotion], notes: Sequence[str]) -> dict[str, Any]:
    """Return everything for a program. Ages are in seconds."""
    return {
        "notes": list(notes),
        "streams": [stream_as_json(stream) for stream in at.streams],
        "campaigns": [campaign._asdict() for campaign in campaigns],
        "workers": [
            {
                "name": worker.name,
                "streams": list(worker.streams),
                "calls": worker.calls,
                "is_woken": worker.is_woken,
                "seen": worker.seen,
                "alive": worker.is_alive,
            }
            for worker in at.workers
        ],
        "webhooks": at.webhooks,
        "refusals": at.refusals,
    }


def stream_as_json(stream: Stream) -> dict[str, Any]:
    """Return one stream for a program."""
    states = {
        name: {"count": state.mails, "oldest": state.oldest}
        for name, state in (
            ("ready", stream.ready),
            ("leased", stream.leased),
            ("accepted", stream.accepted),
            ("settled", stream.settled),
        )
    }
    return {
        **stream.limits._asdict(),
        "states": states,
        "ready": stream.ready.mails,
        "later": stream.later,
        "oldest_ready": stream.ready.oldest,
        "leased": stream.leased.mails,
        "in_flight": stream.in_flight.mails,
        "unknown": stream.unknown.mails,
        "oldest_unknown": stream.unknown.oldest,
        "held": stream.held.mails,
        "oldest_held": stream.held.oldest,
        "dead_letters": stream.dead_letters,
        "completions_per_minute": stream.per_minute,
        "completions_last_hour": stream.settled.mails,
        "last_accepted": stream.settled.oldest,
        "answers": stream.answers,
        "last_answer": stream.last.answer_class or "",
        "last_answer_text": stream.last.answer or "",
        "workers": stream.workers,
        "waits": [wait._asdict() for wait in stream.waits],
        "open_batches": stream.batches["open"],
        "unclear_batches": stream.batches["unclear"],
        "held_batches": stream.batches["held"],
    }


def remarks() -> list[str]:
    """Return what an operator should know before the numbers."""
    found = []
    if stopped := queries.stopped():
        found.append(f"Nothing is sent: {stopped}")
    if held := queries.held_after_restore():
        found.append(f"Nothing is sent: {held} See 'manage.py confirm_restore'.")
    if not settings.MAILGUN_API_KEY:
        found.append(
            "There is no account key (MAILGUN_API_KEY): Mailgun's log can't be asked about a send without a clear answer."
        )
    return found


def cell(state: State, *, later: int = 0) -> str:
    """Write how many there are, how many more wait for another try or their time, and how old the oldest is."""
    mails = f"{state.mails:,}{f' + {later:,} later' if later else ''}"
    return f"{mails} ({age(state.oldest)})" if state.oldest is not None else mails


def age(seconds: float | None) -> str:
    """Write an age as people read it."""
    if seconds is None:
        return "-"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
