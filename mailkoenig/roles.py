"""Who on the staff may do what: three roles to begin with, which a superuser may change."""

from typing import Any

LOOK = (
    "campaigns.view_campaign",
    "campaigns.view_message",
    "campaigns.view_messagetemplate",
    "campaigns.view_recipient",
    "campaigns.view_sendbatch",
    "campaigns.view_senderdomain",
    "campaigns.view_stream",
    "campaigns.view_unclearbatch",
    "contacts.view_contactlist",
    "events.view_event",
)
PEOPLE = ("contacts.view_contact", "contacts.view_suppression", "contacts.view_contactimport")
WRITE = ("campaigns.add_campaign", "campaigns.change_campaign", "campaigns.delete_campaign")
# A template goes out with the next message that names it, so that changing one is sending.
SEND = (
    "campaigns.send_campaign",
    "campaigns.stop_everything",
    "campaigns.add_messagetemplate",
    "campaigns.change_messagetemplate",
    "campaigns.delete_messagetemplate",
)
ROLES = {
    # Writes and previews; what goes out is another's decision.
    "Writer": (*LOOK, *PEOPLE, *WRITE),
    # Writes too, and starts, schedules, pauses, cancels, and stops everything.
    "Sender": (*LOOK, *PEOPLE, *WRITE, *SEND),
    # Watches the queue and has the levers for what mail goes through.
    "Operator": (
        *LOOK,
        *PEOPLE,
        "campaigns.add_senderdomain",
        "campaigns.change_senderdomain",
        "campaigns.add_stream",
        "campaigns.change_stream",
        "campaigns.requeue_message",
        "campaigns.stop_everything",
        "campaigns.settle_unclearbatch",
        "admin.view_logentry",
        "events.view_pollcursor",
        "monitoring.view_alert",
        "api.view_apitoken",
        "api.change_apitoken",
    ),
}


def ensure(apps: Any) -> None:
    """Make the roles that are missing and give each what it lacks; nothing is ever taken away."""
    groups, permissions = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    for role, names in ROLES.items():
        group, _ = groups.objects.get_or_create(name=role)
        for name in names:
            app, codename = name.split(".")
            group.permissions.add(*permissions.objects.filter(content_type__app_label=app, codename=codename))
