"""What the first page shows of the streams, and what stands over every page."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from campaigns.admin import home
from campaigns.models import Stream as StreamRow
from mailkoenig.lib.marks import badge
from mailkoenig.monitoring import live, overview, queries, rules
from mailkoenig.monitoring.overview import Stream


class Row(NamedTuple):
    """One stream as the first page shows it."""

    name: str
    url: str
    state: SafeString
    oldest: str
    per_minute: str
    last: str
    waits: list[str]


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add what this person may see."""
    context = home.dashboard(request, context)
    if live.may_see(request):
        pages = dict(StreamRow.objects.values_list("name", "pk"))
        streams = overview.recent_look().streams
        context |= {
            "has_streams": True,
            "streams": [row(stream, pages[stream.name]) for stream in streams if stream.name in pages],
        }
    return context


def row(stream: Stream, pk: int) -> Row:
    """Return the line of a stream."""
    age = stream.ready.oldest
    return Row(
        name=stream.name,
        url=reverse("admin:campaigns_stream_change", args=[pk]),
        state=state(stream),
        oldest=f"{live.age(age)} of {live.age(stream.limits.age_budget)}" if age is not None else "-",
        per_minute=f"{stream.per_minute:,.0f}",
        last=f"{stream.last.answer_class}, {live.age(stream.last.answered)} ago"
        if stream.last.answer_class
        else "-",
        waits=live.own_waits(stream),
    )


def state(stream: Stream) -> SafeString:
    """Return the one word for a stream with its colour."""
    return badge(*live.standing(stream))


def banners(request: HttpRequest) -> dict[str, Any]:
    """Tell every page of the admin what keeps mail from leaving; looked for only where a page shows it."""
    return {"banners": lambda: list(banner(request))}


def banner(request: HttpRequest) -> Iterator[str]:
    """Yield what stands over everything: held after a restore, no worker while mail waits, a domain that is paused.

    While a worker lives that serves every stream nothing has to be counted for it: each page of the admin asks this.
    """
    if not live.may_see(request):
        return
    if held := queries.held_after_restore():
        yield f"{held} Nothing is sent until manage.py confirm_restore."
    if not any(worker.is_alive and not worker.streams for worker in overview.workers()):
        yield from (found.summary for found in rules.without_worker(overview.recent_look()))
    yield from (found.summary for found in rules.paused_domains())
