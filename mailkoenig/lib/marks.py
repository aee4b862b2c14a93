"""States and moments as people see them: a word, a colour that only ever means a state, and an icon beside it."""

from datetime import datetime
from typing import NamedTuple

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString


class Look(NamedTuple):
    """How a state looks. grey: ready or draft; blue: in motion; green: done; amber: waits; red: failed or stopped."""

    colour: str
    icon: str


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
