"""States as people see them: a word, a colour that only ever means a state, and an icon beside it."""

from datetime import datetime
from typing import NamedTuple

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from campaigns.models import Campaign, Recipient, SendBatch


class Look(NamedTuple):
    """How a state looks. grey: ready or draft; blue: in motion; green: done; amber: waits; red: failed or stopped."""

    colour: str
    icon: str


CAMPAIGN = {
    Campaign.Status.DRAFT: Look("grey", "edit"),
    Campaign.Status.SCHEDULED: Look("grey", "schedule"),
    Campaign.Status.SENDING: Look("blue", "send"),
    Campaign.Status.PAUSED: Look("amber", "pause"),
    Campaign.Status.SENT: Look("green", "check"),
    Campaign.Status.CANCELLED: Look("red", "block"),
}
RECIPIENT = {
    Recipient.Status.PENDING: Look("grey", "schedule"),
    Recipient.Status.SENDING: Look("blue", "lock"),
    Recipient.Status.SENT: Look("blue", "send"),
    Recipient.Status.DELIVERED: Look("green", "check"),
    Recipient.Status.BOUNCED: Look("red", "undo"),
    Recipient.Status.COMPLAINED: Look("red", "report"),
    Recipient.Status.UNSUBSCRIBED: Look("amber", "logout"),
    Recipient.Status.FAILED: Look("red", "error"),
    Recipient.Status.SKIPPED: Look("grey", "skip_next"),
    Recipient.Status.UNKNOWN: Look("amber", "help"),
}
BATCH = {
    SendBatch.State.LEASED: Look("grey", "lock"),
    SendBatch.State.IN_FLIGHT: Look("blue", "send"),
    SendBatch.State.ACCEPTED: Look("green", "check"),
    SendBatch.State.RETURNED: Look("amber", "undo"),
    SendBatch.State.UNKNOWN: Look("amber", "help"),
}
RUNNING = Look("green", "check")
STOPPED = Look("red", "block")
WAITING = Look("amber", "hourglass_top")


def badge(word: str, look: Look) -> SafeString:
    """Return a state as a coloured word with its icon."""
    return format_html(
        '<span class="mk-badge mk-{}"><span class="material-symbols-outlined" aria-hidden="true">{}</span>{}</span>',
        look.colour,
        look.icon,
        word,
    )


def when(moment: datetime | None) -> SafeString | None:
    """Return a moment with its zone."""
    if moment is None:
        return None
    local = timezone.localtime(moment)
    return format_html(
        '<time datetime="{}" class="whitespace-nowrap">{}</time>',
        local.isoformat(),
        f"{local:%Y-%m-%d %H:%M} {local:%Z}",
    )


def shortened(text: str, *, length: int = 80) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def link(text: str, url: str) -> SafeString:
    """Return a link as the theme writes it."""
    return format_html('<a class="mk-link" href="{}">{}</a>', url, text)
