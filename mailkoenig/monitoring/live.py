"""The page that a person watches: each stream, the workers, what comes back, and what is wrong; fresh every few seconds."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.timezone import now

from campaigns.models import Stream as StreamRow
from mailkoenig.lib.clocks import clock, span
from mailkoenig.lib.counting import many
from mailkoenig.lib.marks import Look
from mailkoenig.monitoring import overview, sql
from mailkoenig.monitoring.models import Alert
from mailkoenig.monitoring.overview import State, Stream, Worker

GREY, BLUE, GREEN = Look("grey", "schedule"), Look("blue", "send"), Look("green", "check")
LEASED, AMBER, RED = Look("blue", "lock"), Look("amber", "hourglass_top"), Look("red", "block")
BARS = 100


class Step(NamedTuple):
    """One of the four states of a stream."""

    name: str
    mails: int
    meaning: str
    look: Look


class Fact(NamedTuple):
    """A short line about a stream."""

    name: str
    text: str
    url: str = ""


class Panel(NamedTuple):
    """One stream as the page shows it."""

    name: str
    url: str
    word: str
    look: Look
    steps: Sequence[Step]
    bars: Sequence[tuple[int, int, int]]
    """Left, top and height of each minute's bar in a picture of BARS units."""
    sums: str
    facts: Sequence[Fact]
    answers: Sequence[tuple[str, int, str]]
    waits: Sequence[str]


def may_see(request: HttpRequest) -> bool:
    """Say whether somebody may see how the queue stands."""
    return request.user.has_perm("campaigns.view_stream") or request.user.has_perm("campaigns.change_stream")


def page(request: HttpRequest) -> HttpResponse:
    """Show how everything stands."""
    if not may_see(request):
        raise PermissionDenied
    context = {**admin.site.each_context(request), "title": "Live", "banners": [], **look(request)}
    return TemplateResponse(request, "admin/live.html", context)


def answer(request: HttpRequest) -> HttpResponse:
    """Return the same for the page that is open already."""
    if not may_see(request):
        raise PermissionDenied
    response = JsonResponse(
        {"status": "live", "html": render_to_string("admin/live_panel.html", look(request), request=request)}
    )
    response["Cache-Control"] = "no-store"
    return response


def look(request: HttpRequest) -> dict[str, Any]:
    """Return what the page shows to this person."""
    may_see_alerts = request.user.has_perm("monitoring.view_alert")
    at = overview.recent_look()
    addresses = {
        name: reverse("admin:campaigns_stream_change", args=[pk])
        for pk, name in StreamRow.objects.values_list("pk", "name")
    }
    return {
        "alerts": [(alert, clock(alert.began_at), place(alert, addresses)) for alert in sql.firing()],
        "past": reverse("admin:monitoring_alert_changelist") if may_see_alerts else "",
        "notes": at.notes,
        "panels": [panel(stream, url=addresses.get(stream.name, "")) for stream in at.streams],
        "workers": [(worker, doing(worker), age(worker.seen)) for worker in at.workers],
        "alive": len(at.alive),
        "webhooks": at.webhooks,
        "refusals": at.refusals,
        "webhook_bars": bars(at.webhook_minutes),
        "webhook_sums": f"{sum(at.webhook_minutes):,} in the last {overview.MINUTES} minutes",
        "as_of": clock(now()),
        "minutes": overview.MINUTES,
        "unit": BARS,
    }


def place(alert: sql.Firing, streams: Mapping[str, str]) -> str:
    """Return the page where something can be done about it; empty where there is none."""
    kinds = Alert.Kind
    if alert.kind == kinds.STALLED:
        return streams.get(alert.subject, "")
    if alert.kind == kinds.UNKNOWN:
        return reverse("admin:campaigns_unclearbatch_changelist")
    if alert.kind == kinds.DOMAIN:
        return f"{reverse('admin:campaigns_senderdomain_changelist')}?{urlencode({'q': alert.subject})}"
    campaign = alert.subject.removeprefix("campaign ")
    is_campaign = alert.kind in (kinds.SILENCE, kinds.BOUNCES, kinds.COMPLAINTS) and campaign.isdigit()
    return reverse("admin:campaigns_campaign_change", args=[campaign]) if is_campaign else ""


def panel(stream: Stream, *, url: str) -> Panel:
    """Return one stream as the page shows it."""
    word, shown = standing(stream)
    return Panel(
        name=stream.name,
        url=url,
        word=word,
        look=shown,
        steps=steps(stream),
        bars=bars(stream.minutes),
        sums=f"{stream.per_minute:,.0f} a minute now, {sum(stream.minutes):,} in the last {overview.MINUTES} minutes",
        facts=facts(stream),
        answers=[(name, times, colour(name)) for name, times in stream.answers.items()],
        waits=own_waits(stream),
    )


def own_waits(stream: Stream) -> list[str]:
    """Return why a stream waits, without what stops all of them: that stands over everything."""
    return [wait.text for wait in stream.waits if wait.kind not in ("stopped", "restore")]


def standing(stream: Stream) -> tuple[str, Look]:
    """Return the one word for a stream, the same on every page and in the commands; what stops most of it weighs most."""
    limits = stream.limits
    if stream.is_stopped:
        return "Stopped", RED
    if limits.paused:
        return "Paused", RED
    if stream.is_over_budget:
        return "Over budget", RED
    if limits.draining:
        return "Draining", AMBER
    if stream.waits:
        return "Waits", AMBER
    if stream.ready.oldest is not None or stream.accepted.mails or stream.leased.mails:
        return "Sending", BLUE
    return "Idle", GREEN


def steps(stream: Stream) -> list[Step]:
    """Return its four states from left to right."""
    budget = f"budget {age(stream.limits.age_budget)}"
    budget += f"; {stream.later:,} more wait for another try or their time" if stream.later else ""
    last = f", the last {age(stream.settled.oldest)} ago" if stream.settled.oldest is not None else ""
    return [
        Step("ready", stream.ready.mails, f"{oldest(stream.ready)}{budget}", GREY),
        Step("leased", stream.leased.mails, f"{oldest(stream.leased)}held by a worker", LEASED),
        Step("accepted", stream.accepted.mails, f"{oldest(stream.accepted)}perhaps: the call is open", BLUE),
        Step("settled", stream.settled.mails, f"in our books within the hour{last}", GREEN),
    ]


def oldest(state: State) -> str:
    """Say how old the oldest is, where there is one."""
    return "" if state.oldest is None else f"oldest {age(state.oldest)}, "


def facts(stream: Stream) -> list[Fact]:
    """Return what else is worth a line, and nothing that is not."""
    limits = stream.limits
    pace = [f"{many(limits.concurrency, 'call')} at a time"]
    pace += (
        [f"{many(limits.rate_per_minute, 'mail')} a minute"] if limits.rate_per_minute else ["no rate limit"]
    )
    pace += [f"bursts of {limits.burst:,}"] if limits.burst else []
    pace += [f"{limits.daily_cap:,} a day"] if limits.daily_cap else []
    found = [Fact("Limits", " · ".join(pace)), Fact("Workers", f"{stream.workers:,} alive")]
    if stream.last.answer_class:
        found.append(Fact("Last answer", f"{stream.last.answer_class}, {age(stream.last.answered)} ago"))
    if stream.unknown.mails:
        held = (
            f", {stream.held.mails:,} of them for a person, since {age(stream.held.oldest)}"
            if stream.held.mails
            else ""
        )
        text = f"{many(stream.unknown.mails, 'mail')}, the oldest since {age(stream.unknown.oldest)}{held}"
        found.append(Fact("Unknown", text, reverse("admin:campaigns_unclearbatch_changelist")))
    if stream.dead_letters:
        found.append(Fact("Dead letters", f"{many(stream.dead_letters, 'message')} failed"))
    return found


def bars(minutes: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return a bar for each minute, the tallest as high as the picture; what is not nothing can be seen."""
    tallest = max(minutes, default=0) or 1
    width = BARS / max(len(minutes), 1)
    heights = [max(round(BARS * mails / tallest), 4 if mails else 0) for mails in minutes]
    return [(round(index * width * 3), BARS - height, height) for index, height in enumerate(heights)]


def colour(answer: str) -> str:
    """Return the colour of a class of answers: taken, put off, refused or not known."""
    if answer.startswith("2"):
        return "green"
    return "amber" if answer in ("420", "429") or not answer.startswith(("4", "3")) else "red"


def doing(worker: Worker) -> str:
    """Say what a worker is doing."""
    if not worker.is_alive:
        return "gone"
    calls = ", ".join(f"{many(count, 'call')} for {name}" for name, count in sorted(worker.calls.items()))
    return f"{calls or 'waits for mail'}{'' if worker.is_woken else ' (polls)'}"


def age(seconds: float | None) -> str:
    """Write an age; a dash where there is nothing."""
    return "-" if seconds is None else span(timedelta(seconds=seconds))
