"""The rooms in the sidebar, each shown to those who may enter it."""

from typing import Any, NamedTuple

from django.contrib import admin
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from mailkoenig.monitoring import live


class Room(NamedTuple):
    """A list page: of a model, by its label."""

    title: str
    icon: str
    model: str


ROOMS: dict[str, tuple[Room, ...]] = {
    "Write": (
        Room("Campaigns", "campaign", "campaigns.campaign"),
        Room("Message templates", "draft", "campaigns.messagetemplate"),
    ),
    "People": (
        Room("Contacts", "person", "contacts.contact"),
        Room("Lists", "list_alt", "contacts.contactlist"),
        Room("Imports", "upload_file", "contacts.contactimport"),
        Room("Suppressions", "do_not_disturb_on", "contacts.suppression"),
    ),
    "Sending": (
        Room("Streams", "water", "campaigns.stream"),
        Room("Unknown outcomes", "help", "campaigns.unclearbatch"),
        Room("Messages", "mail", "campaigns.message"),
        Room("Sender domains", "dns", "campaigns.senderdomain"),
        Room("Batches", "stacks", "campaigns.sendbatch"),
        Room("Alerts", "notifications", "monitoring.alert"),
    ),
    "What came back": (
        Room("Events", "mark_email_read", "events.event"),
        Room("Provider logs", "sync", "events.pollcursor"),
    ),
    "Settings": (
        Room("API tokens", "key", "api.apitoken"),
        Room("Staff", "badge", "auth.user"),
        Room("Roles", "groups", "auth.group"),
        Room("Audit trail", "history", "admin.logentry"),
    ),
}


def title(label: str) -> str:
    """Return what the list of a model is called, by the model's label; empty where it is no room."""
    return next((room.title for rooms in ROOMS.values() for room in rooms if room.model == label), "")


def rooms(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the sidebar: only what exists and this person may see."""
    registered = {model._meta.label_lower: pages for model, pages in admin.site._registry.items()}
    top = [{"title": "Home", "icon": "home", "link": reverse("admin:index")}]
    if live.may_see(request):
        top.append({"title": "Live", "icon": "monitor_heart", "link": reverse("live")})
    groups: list[dict[str, Any]] = [{"title": "", "items": top}]
    for title, members in ROOMS.items():
        items = [
            item(room)
            for room in members
            if room.model in registered and registered[room.model].has_view_permission(request)
        ]
        if items:
            groups.append({"title": title, "separator": True, "items": items})
    return groups


def item(room: Room) -> dict[str, Any]:
    """Return one entry of the sidebar."""
    try:
        link = reverse(f"admin:{room.model.replace('.', '_')}_changelist")
    except NoReverseMatch:
        link = reverse("admin:index")
    return {"title": room.title, "icon": room.icon, "link": link}
