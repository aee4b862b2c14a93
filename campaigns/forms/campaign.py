"""A campaign as its author types it."""

from copy import copy
from typing import Any

from django import forms
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType

from campaigns import services
from campaigns.content import ContentError
from campaigns.models import Campaign, SenderDomain
from mailkoenig.lib.addresses import domain_of
from mailkoenig.lib.clocks import clock

Status = Campaign.Status
SENDER = ("domain", "from_name", "from_email", "reply_to", "track_opens", "track_clicks")
AUDIENCE = ("lists",)

REFUSALS = {
    Status.SENDING: "It is being sent: pause it first, then save again.",
    Status.SENT: "It has been sent and stays as it was: what you typed was not saved.",
    Status.CANCELLED: "It was cancelled and stays as it was: what you typed was not saved.",
}


def frozen(status: str) -> tuple[str, ...]:
    """Return the fields that a campaign in this state keeps: those who got it already got it that way."""
    return (*SENDER, *AUDIENCE) if status == Status.PAUSED else ()


def version(campaign: Campaign) -> str:
    """Return what tells one state of a campaign from the next, for a form that was opened before."""
    return f"{campaign.updated_at.isoformat()} {campaign.status}"


class CampaignForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """A campaign as its author writes it. Refuses what can't be sent, what is too late, and what would undo another's work."""

    version = forms.CharField(widget=forms.HiddenInput, required=False)

    class Meta:
        model = Campaign
        fields = [
            "name",
            "subject",
            "preheader",
            "body_format",
            "body",
            *AUDIENCE,
            *SENDER,
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "body" in self.fields:
            self.fields["body"].widget.attrs.update(rows=18, spellcheck="true")
        if self.instance.pk:
            self.fields["version"].initial = version(self.instance)

    def clean(self) -> dict[str, Any]:
        """Lock the row until it is saved, and refuse where it moved on since this form was opened."""
        cleaned = super().clean() or {}
        if self.instance.pk:
            held = Campaign.objects.select_for_update(of=["self"], no_key=True).get(pk=self.instance.pk)
            self.check_moved(held)
            self.check_audience(held, cleaned)
        self.check_sender(cleaned)
        return cleaned

    def check_moved(self, held: Campaign) -> None:
        """Refuse a form that was opened on another version, and let the next try replace it knowingly."""
        if held.status in REFUSALS:
            self.add_error(None, REFUSALS[Status(held.status)])
            return
        seen = self.data.get(self.add_prefix("version"), "")
        if not seen or seen == version(held):
            return
        data: Any = copy(self.data)  # a mutable one
        data[self.add_prefix("version")] = version(held)
        self.data = data
        if seen.rpartition(" ")[2] != held.status:
            label = Status(held.status).label.lower()
            self.add_error(None, f"It is {label} now and was not when you opened it: look again, then save.")
            return
        self.add_error(
            None,
            f"{changed_by(held)} changed it meanwhile. What you typed is kept below: compare with their version in "
            "another tab; if you save again, yours replaces it.",
        )

    def check_audience(self, held: Campaign, cleaned: dict[str, Any]) -> None:
        """Refuse to take away what a scheduled campaign needs to start."""
        if held.status != Status.SCHEDULED:
            return
        if "lists" in self.fields and not cleaned.get("lists"):
            self.add_error("lists", "It is scheduled: choose at least one list, or unschedule it first.")
        if (
            "domain" in self.fields
            and not cleaned.get("domain")
            and not SenderDomain.objects.filter(is_shared=True).exists()
        ):
            self.add_error("domain", "It is scheduled: choose the domain it goes out from.")

    def check_sender(self, cleaned: dict[str, Any]) -> None:
        """Refuse an address that readers' servers would take for forged."""
        domain, address = cleaned.get("domain"), cleaned.get("from_email")
        if not domain or not address or domain.is_shared:
            return
        if organisation(domain_of(address)) != organisation(domain.name):
            self.add_error(
                "from_email",
                f"{address} is not an address of {domain}: readers' servers would take it for forged. "
                f"Use one such as news@{domain}, and put this one under Reply to.",
            )

    def _post_clean(self) -> None:
        """Compile what was typed, once the fields are on the instance."""
        super()._post_clean()  # type: ignore[misc]  # Django's hook for exactly this has no type
        if {"subject", "body"} & set(self.errors) or not {"subject", "body"} <= set(self.fields):
            return
        for error in services.content_errors(self.instance):
            self.add_error(error.field if error.field in self.fields else None, place(error))


def place(error: ContentError) -> str:
    """Return what is wrong with its line and tag, where the field alone does not say them."""
    line = f"Line {error.line}: " if error.line and error.field == "body" else ""
    tag = f"{error.tag}: " if error.tag and error.tag not in error.problem else ""
    problem = error.problem if line or tag else error.problem[:1].upper() + error.problem[1:]
    return f"{line}{tag}{problem}"


def organisation(domain: str) -> str:
    """Return the part of a domain by which readers' servers tell whether two belong together."""
    return ".".join(domain.lower().rsplit(".", 2)[-2:])


def changed_by(campaign: Campaign) -> str:
    """Return who changed a campaign last and when."""
    entry = (
        LogEntry.objects.filter(
            content_type=ContentType.objects.get_for_model(Campaign), object_id=str(campaign.pk)
        )
        .select_related("user")
        .order_by("-action_time")
        .first()
    )
    return f"{entry.user} ({clock(entry.action_time)})" if entry else "Somebody"
