"""What is known of a message, in words: why it waits, whether it was sent, in which calls it was, who opened it."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache

from django.contrib import admin
from django.db.models import Q
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from campaigns import waits
from campaigns.admin.words import shortened, when
from campaigns.models import Message, SendBatch
from campaigns.waits import Wait
from mailkoenig.lib import clocks
from mailkoenig.lib.database_clock import clock

NOT_REPORTED = "not reported"
MOST_CALLS = 50
NOBODY_KNOWS = "nobody knows whether the provider took it"


def is_later(message: Message) -> bool:
    """Say whether it is not to be sent yet, as its caller or an earlier answer wants it."""
    return message.next_attempt_at > clock.now()


def reasons(message: Message, found: Sequence[Wait]) -> list[str]:
    """Say why a message is where it is; of one that is ready, with what holds up its stream or its own domain."""
    own = [message.reason] if message.reason else []
    if message.status != Message.Status.PENDING:
        return own
    later = [f"Not before {clocks.clock(message.next_attempt_at)}."] if is_later(message) else []
    held = [wait.text for wait in found if wait.holds(message.domain.name)]
    return [*later, *held, *own]


def why_column() -> Callable[[Message], str]:
    """Return a list's column of reasons; it looks at all streams at once, when the first mail that waits is shown."""
    look = cache(waits.every)

    @admin.display(description="Why")
    def why(message: Message) -> str:
        found = look().get(message.stream.name, []) if message.status == Message.Status.PENDING else []
        return shortened(" ".join(reasons(message, found)))

    return why


def is_unclear(message: Message) -> bool:
    """Say whether a call of it has no known outcome: the last one, or one before it that was never cleared up."""
    return message.status == Message.Status.UNKNOWN or message.unclear_batch_id is not None


def human_or_machine(human: datetime | None, machine: datetime | None) -> SafeString | str:
    """Return when a person did it, else when a program did."""
    if machine and not human:
        return format_html("by a program, {}", when(machine))
    return when(human) or NOT_REPORTED


def calls(message: Message) -> SafeString | str:
    """Return every call that it was in, the newest first, and what each was answered."""
    known = [batch for batch in (message.batch_id, message.unclear_batch_id) if batch]
    found = SendBatch.objects.filter(Q(message_id=message.pk) | Q(pk__in=known)).order_by("-claimed_at")
    lines = [
        (
            when(batch.started_at or batch.claimed_at),
            reverse("admin:campaigns_sendbatch_change", args=[batch.pk]),
            batch.get_state_display().lower(),
            shortened(batch.answer, length=120),
        )
        for batch in found[:MOST_CALLS]
    ]
    if not lines:
        return "none yet"
    return format_html_join("", '<div>{} <a class="mk-link" href="{}">{}</a> {}</div>', lines)
