"""The flows of mail and their limits, which hold over all workers and from the next batch on."""

from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin

from campaigns import services
from campaigns.admin import emergency
from campaigns.admin.levers import IN_THE_TRAIL, WHERE_IT_WAITS, WITH_EACH_MAIL, Lever, LeverAdmin
from campaigns.forms import StreamForm
from campaigns.models import Message, Stream
from campaigns.sql import letters, messages
from campaigns.sql.waits import usage, waiting
from mailkoenig.lib.clocks import clock, span
from mailkoenig.lib.counting import many

Kind = Stream.Kind
DEAD_SHOWN = 5
MOST_COUNTED = 100_000


def pause_sentences(stream: Stream) -> list[str]:
    return [
        f"Stop everything of the stream {stream}.",
        waiting_sentence(waiting(stream.pk, most=MOST_COUNTED)),
    ]


def waiting_sentence(mails: int) -> str:
    """Say how many mails wait."""
    if not mails:
        return "No mail of it waits now."
    more = " or more" if mails >= MOST_COUNTED else ""
    return f"{many(mails, 'mail')} of it{more} {'waits' if mails == 1 else 'wait'} now."


def resume_sentences(stream: Stream) -> list[str]:
    by = f" by {stream.paused_by}" if stream.paused_by else ""
    return [f"Let {stream} go on.", f"It was paused{by}: {stream.paused_reason or 'nobody said why.'}"]


def one_sentences(stream: Stream) -> list[str]:
    return [
        f"Let {stream} make one call at a time, over all workers, instead of up to {stream.concurrency:,}.",
        "It is the first thing to do where the provider is in trouble: mail leaves slowly and in order, and all of it stays.",
    ]


def requeue_sentences(stream: Stream) -> list[str]:
    """Say what died of what."""
    deaths = letters.deaths(stream.pk)
    if not deaths:
        return [f"{stream} has no dead letters: there is nothing to requeue."]
    count = sum(death.messages for death in deaths)
    return [
        f"Try {many(count, 'message')} of {stream} again that had died, with attempts anew.",
        *(f"{death.messages:,} died of: {death.reason}" for death in deaths[:DEAD_SHOWN]),
        *([f"And of {many(len(deaths) - DEAD_SHOWN, 'other reason')}."] if len(deaths) > DEAD_SHOWN else []),
    ]


def cancel_sentences(stream: Stream) -> list[str]:
    ready = Message.objects.filter(stream=stream, status=Message.Status.PENDING).count()
    return [
        f"Take back {many(ready, 'message')} of {stream} that wait to be sent.",
        "Nobody gets them, and their keys stay used: who asked for one is told that it was cancelled.",
    ]


LEVERS = {
    "pause": Lever(
        "Pause",
        "Pause",
        "pause",
        pause_sentences,
        "Calls that are open are finished first. Everybody who is left keeps their place; nobody is lost.",
        lambda stream, reason, by: services.pause_stream(stream, reason=reason, by=by),
        "paused.",
        reason_shown=WHERE_IT_WAITS,
        is_danger=True,
    ),
    "resume": Lever(
        "Resume",
        "Resume",
        "play_arrow",
        resume_sentences,
        "You can pause it again any time.",
        lambda stream, reason, by: services.resume_stream(stream, by=by),
        "goes on.",
    ),
    "one-at-a-time": Lever(
        "Reduce to one",
        "Reduce to one",
        "speed",
        one_sentences,
        "You can raise “Calls at a time” on its page again.",
        lambda stream, reason, by: services.reduce_to_one(stream, by=by),
        "makes one call at a time.",
    ),
    "drain": Lever(
        "Drain",
        "Drain",
        "water_drop",
        lambda stream: [
            f"Let {stream} send what it holds and take nothing new.",
            "Whoever hands it a new mail is refused with that reason, and has to keep it.",
        ],
        "You can let it take new mail again any time.",
        lambda stream, reason, by: services.drain_stream(stream, by=by, reason=reason),
        "sends what it holds and takes nothing new.",
        reason_shown=IN_THE_TRAIL,
        is_danger=True,
    ),
    "undrain": Lever(
        "Take new mail again",
        "Take new mail again",
        "water",
        lambda stream: [f"Let {stream} take new mail again."],
        "You can drain it again any time.",
        lambda stream, reason, by: services.undrain_stream(stream, by=by),
        "takes new mail again.",
    ),
    "requeue": Lever(
        "Requeue dead letters",
        "Requeue",
        "replay",
        requeue_sentences,
        "Whoever was sent it after all, as the books show, does not get it twice. What is too late by now ends as expired.",
        lambda stream, reason, by: bool(services.requeue_messages(stream=stream, by=by, reason=reason)),
        "its dead letters are ready again.",
        reason_shown=IN_THE_TRAIL,
    ),
    "cancel-ready": Lever(
        "Cancel what waits",
        "Cancel them",
        "block",
        cancel_sentences,
        "This can't be taken back. To stop for a while, pause the stream instead.",
        lambda stream, reason, by: bool(services.cancel_ready(stream, by=by, reason=reason)),
        "what was ready is cancelled.",
        reason_shown=WITH_EACH_MAIL,
        is_danger=True,
    ),
}


class StreamAdmin(LeverAdmin, ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """All of a stream's pages but two columns: `state` and `why` come with mailkoenig.monitoring, which knows how it stands."""

    form = StreamForm
    change_form_template = "admin/campaigns/lever_form.html"
    list_before_template = "admin/campaigns/stream/before.html"
    list_display = ["name", "kind", "state", "why", "concurrency", "rate_per_minute", "age_budget"]
    actions = None
    empty_title = "No streams"
    empty_text = "Each flow of mail, such as campaigns or receipts, has its own pace here."
    levers = LEVERS

    def get_fieldsets(self, request: HttpRequest, obj: Stream | None = None) -> list[tuple[str | None, Any]]:
        is_campaigns = obj is not None and obj.kind == Kind.CAMPAIGN
        failures = ["max_attempts", "lease", "age_budget", "on_unknown"]
        first = ["name", "kind", "state", "why", "used"] if obj else ["name"]
        groups = [
            (None, first),
            ("Pace", ["concurrency", "rate_per_minute", "burst", "daily_cap", "batch_size"]),
            ("Quiet hours", ["quiet_from", "quiet_until", "time_zone"]),
            ("Who it comes from", [] if is_campaigns else ["domain", "sender"]),
            ("When something goes wrong", failures if is_campaigns else [*failures, "sends_to_complainers"]),
        ]
        return [(title, {"fields": fields}) for title, fields in groups if fields]

    def get_readonly_fields(self, request: HttpRequest, obj: Stream | None = None) -> list[str]:
        return ["state", "why", "used", *(["name", "kind"] if obj else [])]

    def has_delete_permission(self, request: HttpRequest, obj: Stream | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Stream, form: Any, change: bool) -> None:
        """Save only what was typed: it may have been paused meanwhile."""
        if change:
            obj.save(update_fields=form.changed_data)
        else:
            obj.save()
        messages.notify(obj.name)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> str | list[dict[str, Any]]:
        """Say for the audit trail what each limit was and is."""
        if add:
            found: list[dict[str, Any]] = super().construct_change_message(request, form, formsets, add)
            return found
        changes = [
            f"{form.fields[name].label}: {shown(form.cleaned_data[name])} instead of {shown(form.initial.get(name))}."
            for name in form.changed_data
        ]
        return " ".join(changes) or "Saved without a change."

    @admin.display(description="What the limits do now")
    def used(self, stream: Stream) -> SafeString:
        return format_html_join("", "<div>{}</div>", ((line,) for line in in_use(stream)))

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        stream: Stream | None = kwargs.get("obj")
        if stream is not None and self.may_pull(request, stream):
            context["levers"] = [(name, self.levers[name]) for name in possible(stream)]
        return super().render_change_form(request, context, *args, **kwargs)

    def get_urls(self) -> list[Any]:
        def view(name: str) -> Any:
            def run(request: HttpRequest) -> HttpResponse:
                return emergency.view(self, request, name=name)

            return self.admin_site.admin_view(run)

        return [
            *(path(f"{name}/", view(name), name=f"campaigns_stream_{name}") for name in emergency.ACTS),
            *super().get_urls(),
        ]


def possible(stream: Stream) -> Iterator[str]:
    """Yield the levers that a stream's state leaves, the one that is wanted soonest first."""
    yield "resume" if stream.paused else "pause"
    if stream.concurrency > 1:
        yield "one-at-a-time"
    if stream.kind != Kind.TRANSACTIONAL:
        return
    yield "undrain" if stream.draining else "drain"
    if Message.objects.filter(stream=stream, status=Message.Status.FAILED, sent_at=None).exists():
        yield "requeue"
    if Message.objects.filter(stream=stream, status=Message.Status.PENDING).exists():
        yield "cancel-ready"


def in_use(stream: Stream) -> Iterator[str]:
    """Say what of each limit is used at this moment."""
    now = usage(stream.pk)
    if now is None:
        return
    zone = ZoneInfo(stream.time_zone)
    yield f"{now.calls:,} of {many(stream.concurrency, 'call')} {'is' if now.calls == 1 else 'are'} open."
    minute = f"{many(now.last_minute, 'mail')} left within the last minute"
    yield f"{minute}, of {stream.rate_per_minute:,}." if stream.rate_per_minute else f"{minute}; no limit."
    if stream.burst and stream.rate_per_minute:
        every = 60 * stream.burst / stream.rate_per_minute
        yield f"At most {stream.burst:,} of them within {every:,.3g} seconds."
    if stream.daily_cap:
        yield f"{now.today:,} of {many(stream.daily_cap, 'mail')} of today {'is' if now.today == 1 else 'are'} used; it is {clock(now.now, zone=zone)} there."
    if stream.quiet_from and stream.quiet_until:
        hours = f"{stream.quiet_from:%H:%M} to {stream.quiet_until:%H:%M}"
        yield f"Quiet from {hours} {stream.time_zone}, where it is {clock(now.now, zone=zone)}."
    yield f"An alert is raised when mail waits for longer than {span(stream.age_budget)}."


def shown(value: object) -> str:
    """Return a limit as a person reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value in (None, "") else str(value)
