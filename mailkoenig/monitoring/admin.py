"""How each stream stands; and what was wrong and when, and who was told of it."""

from typing import Any

from django.contrib import admin
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from campaigns.admin.stream import StreamAdmin
from campaigns.models import Stream
from mailkoenig.lib.admin import MachineAdmin
from mailkoenig.lib.marks import Look, badge, shortened, when
from mailkoenig.monitoring import home, overview
from mailkoenig.monitoring.models import Alert, Notice


@admin.register(Stream)
class StandingStreamAdmin(StreamAdmin):
    """The streams' own pages with how each stands, in the words of Live, Home and queue_status."""

    @admin.display(description="State")
    def state(self, stream: Stream) -> SafeString | str:
        found = self.standing(stream)
        return home.state(found) if found else "not known yet"

    @admin.display(description="Why it waits")
    def why(self, stream: Stream) -> SafeString | str:
        found = self.standing(stream)
        lines = [(wait.text,) for wait in found.waits] if found else []
        return format_html_join("", "<div>{}</div>", lines) if lines else "nothing holds it"

    def standing(self, stream: Stream) -> overview.Stream | None:
        """Return how a stream stands; None for one that was made a moment ago."""
        return next((found for found in overview.recent_look().streams if found.name == stream.name), None)


FIRING = Look("red", "error")
TO_LOOK_AT = Look("amber", "warning")
OVER = Look("green", "check")
MOST_NOTICES = 50


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("now", "Wrong now"), ("over", "Over")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Alert]) -> QuerySet[Alert]:
        if self.value() in ("now", "over"):
            return queryset.filter(cleared_at__isnull=self.value() == "now")
        return queryset


@admin.register(Alert)
class AlertAdmin(MachineAdmin):
    list_display = ["what", "state", "summary_in_short", "began", "over", "told"]
    list_display_links = ["what"]
    list_filter = [StateFilter]
    empty_title = "No alerts yet"
    empty_text = (
        "When mail is stuck, no worker lives or a domain is paused it shows here, and is told as ADMINS and "
        "ALERT_WEBHOOK_URL say."
    )
    fieldsets = [
        (None, {"fields": ["what", "state", "summary"]}),
        ("When", {"fields": ["began", "last_seen", "over"]}),
        ("Who was told", {"fields": ["notices"]}),
        ("The facts behind it", {"fields": ["facts"]}),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Alert]:
        """Put first what is wrong now, then what was wrong last."""
        found: QuerySet[Alert] = super().get_queryset(request)
        return found.order_by(F("cleared_at").desc(nulls_first=True), "-began_at")

    @admin.display(description="Alert")
    def what(self, alert: Alert) -> str:
        text = str(alert)
        return text[:1].upper() + text[1:]

    @admin.display(description="State")
    def state(self, alert: Alert) -> SafeString:
        if alert.cleared_at:
            return badge("Over", OVER)
        return badge("Wrong now", FIRING if alert.severity == Alert.Severity.PAGE else TO_LOOK_AT)

    @admin.display(description="What is wrong")
    def summary_in_short(self, alert: Alert) -> str:
        return shortened(alert.summary, length=120)

    @admin.display(description="Began")
    def began(self, alert: Alert) -> SafeString | None:
        return when(alert.began_at)

    @admin.display(description="Last seen")
    def last_seen(self, alert: Alert) -> SafeString | None:
        return when(alert.last_seen_at)

    @admin.display(description="Over")
    def over(self, alert: Alert) -> SafeString | str:
        return when(alert.cleared_at) or "not yet"

    @admin.display(description="First told")
    def told(self, alert: Alert) -> SafeString | str:
        return when(alert.notified_at) or "nobody yet"

    @admin.display(description="Notices")
    def notices(self, alert: Alert) -> SafeString | str:
        """Show what was told in which way, the newest first, and what could not be told."""
        lines = [(line(notice),) for notice in alert.notices.order_by("-id")[:MOST_NOTICES]]
        return (
            format_html_join("", "<div>{}</div>", lines)
            if lines
            else "nobody: see ADMINS and ALERT_WEBHOOK_URL"
        )

    @admin.display(description="Facts")
    def facts(self, alert: Alert) -> SafeString | str:
        lines = [(name.replace("_", " "), shown(value)) for name, value in sorted(alert.details.items())]
        return format_html_join("", "<div>{}: {}</div>", lines) if lines else "none"


def line(notice: Notice) -> SafeString:
    """Return one notice: which, how, and when it was told or why it was not."""
    about = "Over" if notice.about == Notice.About.CLEARED else "Began"
    if notice.told_at:
        return format_html("{}, by {}: told {}", about, notice.way, when(notice.told_at))
    cause = notice.error or "it waits for its turn"
    return format_html("{}, by {}: not told yet ({}; {} tries)", about, notice.way, cause, notice.tries)


def shown(value: Any) -> str:
    """Return a fact as text."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {number}" for name, number in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in (None, "") else str(value)
