"""The flows of mail and their limits, which hold over all workers and from the next batch on."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin

from campaigns import services
from campaigns.admin.levers import Lever, LeverAdmin
from campaigns.admin.words import RUNNING, STOPPED, badge
from campaigns.forms import StreamForm
from campaigns.models import Stream


def resume_sentences(stream: Stream) -> list[str]:
    by = f" by {stream.paused_by}" if stream.paused_by else ""
    return [f"Let {stream} go on.", f"It was paused{by}: {stream.paused_reason or 'nobody said why.'}"]


@admin.register(Stream)
class StreamAdmin(LeverAdmin, ModelAdmin):  # type: ignore[misc]  # unfold has no types
    form = StreamForm
    change_form_template = "admin/campaigns/lever_form.html"
    list_display = [
        "name",
        "kind",
        "state",
        "why",
        "concurrency",
        "rate_per_minute",
        "batch_size",
        "age_budget",
    ]
    actions = None
    empty_title = "No streams"
    empty_text = "Each flow of mail, such as campaigns or receipts, has its own pace here."
    fieldsets = [
        (None, {"fields": ["name", "kind", "state", "why"]}),
        ("Pace", {"fields": ["concurrency", "rate_per_minute", "batch_size"]}),
        ("When something goes wrong", {"fields": ["max_attempts", "lease", "age_budget", "on_unknown"]}),
    ]
    levers = {
        "pause": Lever(
            "Pause",
            "Pause",
            "pause",
            lambda stream: [f"Stop everything of the stream {stream}."],
            "Calls that are open are finished first. Everybody who is left keeps their place; nobody is lost.",
            lambda stream, reason, by: services.pause_stream(stream, reason=reason, by=by),
            "paused.",
            needs_reason=True,
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
    }

    def get_readonly_fields(self, request: HttpRequest, obj: Stream | None = None) -> list[str]:
        return ["state", "why", *(["name", "kind"] if obj else [])]

    def has_delete_permission(self, request: HttpRequest, obj: Stream | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Stream, form: Any, change: bool) -> None:
        """Save only what was typed: it may have been paused meanwhile."""
        if change:
            obj.save(update_fields=form.changed_data)
        else:
            obj.save()

    @admin.display(description="State")
    def state(self, stream: Stream) -> SafeString:
        return badge("Paused", STOPPED) if stream.paused else badge("Running", RUNNING)

    @admin.display(description="Why", empty_value="nothing holds it")
    def why(self, stream: Stream) -> str | None:
        if not stream.paused:
            return None
        by = f" ({stream.paused_by})" if stream.paused_by else ""
        return f"{stream.paused_reason or 'nobody said why'}{by}"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        stream: Stream | None = kwargs.get("obj")
        if stream is not None and self.has_change_permission(request, stream):
            name = "resume" if stream.paused else "pause"
            context["levers"] = [(name, self.levers[name])]
        return super().render_change_form(request, context, *args, **kwargs)
