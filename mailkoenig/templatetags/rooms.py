"""What pages are called at their head: a list as in the sidebar, a row by its own name, as it is written."""

from typing import Any

from django import template
from django.db.models import Model
from django.utils.text import capfirst

from mailkoenig import navigation

register = template.Library()


@register.filter
def room(opts: Any) -> str:
    """Return what the list of a model is called."""
    return navigation.title(opts.label_lower) or capfirst(str(opts.verbose_name_plural))


@register.filter
def heading(part: dict[str, Any]) -> str:
    """Return one part of a page's heading; a name such as order-1842:receipt:v1 means another thing with a capital."""
    title = part["title"]
    if isinstance(title, Model):
        return str(title)
    label = ".".join(str(part.get("link") or "").strip("/").split("/")[-2:])
    return navigation.title(label) or capfirst(str(title))
