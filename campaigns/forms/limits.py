"""What mail goes through, and how quickly."""

import re
from datetime import timedelta
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from unfold.widgets import UnfoldAdminSelectWidget

from campaigns.models import SenderDomain, Stream
from campaigns.services.written import MessageRefused, sender_of
from mailkoenig.lib.addresses import domain_of
from mailkoenig.lib.clocks import span

HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")


class SenderDomainForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """A domain as it is registered at the provider."""

    class Meta:
        model = SenderDomain
        fields = ["name", "is_shared", "batch_limit"]

    def clean_name(self) -> str:
        """Return it in lower case and ASCII; refuse what is an address or no domain at all."""
        name: str = self.cleaned_data["name"].strip()
        if "@" in name or "/" in name:
            raise forms.ValidationError("Write the domain alone, such as mg.example.com.")
        ascii_name = domain_of(name).rstrip(".")
        if not HOST.fullmatch(ascii_name):
            raise forms.ValidationError(f"{name} is no domain: write it like mg.example.com.")
        return ascii_name

    def clean_batch_limit(self) -> int | None:
        """Refuse a limit that nothing could pass."""
        limit: int | None = self.cleaned_data["batch_limit"]
        if limit is not None and not 1 <= limit <= 1000:
            raise forms.ValidationError("Between 1 and 1,000 people a call; empty for the stream's own size.")
        return limit


ZONES = sorted(available_timezones())
LABELS = {
    "concurrency": "Calls at a time",
    "rate_per_minute": "Mails a minute",
    "burst": "Burst",
    "daily_cap": "Mails a day",
    "batch_size": "People a call",
    "quiet_from": "Quiet from",
    "quiet_until": "Quiet until",
    "time_zone": "Time zone",
    "domain": "Sender domain",
    "sender": "From",
    "max_attempts": "Attempts",
    "lease": "Lease",
    "age_budget": "Age budget",
    "on_unknown": "After an unclear outcome",
    "sends_to_complainers": "Also to who called our mail spam",
}
HELP = {
    "concurrency": "How many calls to the provider may be open at once, over all workers. 1 is the gentlest.",
    "rate_per_minute": "No minute ever has more, over all workers. Empty: as many as the provider takes.",
    "burst": "Of the mails a minute, how many may leave at once; the rest follow evenly. With 600 a minute and a burst of "
    "10 there are never more than 10 in a second. Empty: all of them at once.",
    "daily_cap": "From midnight to midnight in the time zone below, such as while a new domain is warmed up. What is over "
    "waits for the next day. Empty: no limit.",
    "quiet_from": "No mail begins from this time on, such as 22:00. For campaigns: a receipt should not wait for the morning.",
    "quiet_until": "Then it goes on by itself, such as at 08:00.",
    "time_zone": "Whose days and times of day these are.",
    "sender": "Whom readers see unless the caller says otherwise, such as Shop &lt;orders@example.com&gt;.",
    "batch_size": "Most people a call. 1 for messages, as each says something of its own.",
    "max_attempts": "How often a mail is tried before it is a dead letter. Waits that the provider asks for do not count.",
    "lease": "How long a worker may hold a batch; longer than the slowest call.",
    "age_budget": "An alert is raised when the oldest ready mail is older.",
    "on_unknown": "When nobody can say whether the provider took a mail: send it again (it may come twice), or hold it "
    "for a person to decide.",
}


def zone_choices() -> list[tuple[str, str | list[tuple[str, str]]]]:
    """Return every time zone, by part of the world."""
    regions: dict[str, list[tuple[str, str]]] = {}
    for name in ZONES:
        region, _, place = name.partition("/")
        if place and region not in ("Etc", "SystemV"):
            regions.setdefault(region, []).append((name, place.replace("_", " ")))
    return [("UTC", "UTC"), *sorted(regions.items())]


class StreamForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """The limits of a flow of mail, in the words of who sets them."""

    time_zone = forms.ChoiceField(choices=zone_choices, widget=UnfoldAdminSelectWidget)

    class Meta:
        model = Stream
        fields = ["name", *LABELS]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.label = LABELS.get(name, field.label)
            field.help_text = HELP.get(name, field.help_text)
        for name in ("lease", "age_budget"):
            if name in self.fields:
                help_text = self.fields[name].help_text
                self.fields[name].help_text = f"{help_text} Hours:minutes:seconds, such as 00:10:00."
        if "time_zone" in self.fields:
            self.keep_zone()

    def keep_zone(self) -> None:
        """Offer the zone that stands there, also where the list leaves it out."""
        field = self.fields["time_zone"]
        now = self.instance.time_zone
        if isinstance(field, forms.ChoiceField) and not field.valid_value(now):
            field.choices = [*zone_choices(), (now, now)]
        field.initial = now
        self.initial["time_zone"] = now

    def clean_name(self) -> str:
        """Refuse a name that belongs to something else."""
        name: str = self.cleaned_data["name"]
        if name in ("stop-everything", "go-on", "add"):
            raise forms.ValidationError("That name is taken: choose another, such as receipts.")
        return name

    def clean_lease(self) -> timedelta:
        """Refuse a lease that ends while a call may still be open: another worker would repeat it."""
        lease: timedelta = self.cleaned_data["lease"]
        slowest = timedelta(seconds=settings.MAILGUN_CALL_TIMEOUT)
        if lease <= slowest:
            raise forms.ValidationError(
                f"A call may take {span(slowest)}; a worker must hold its batch for longer than that. "
                "Write hours:minutes:seconds, such as 00:10:00."
            )
        return lease

    def clean_age_budget(self) -> timedelta:
        """Refuse a budget that is used up at once."""
        budget: timedelta = self.cleaned_data["age_budget"]
        if budget <= timedelta(0):
            raise forms.ValidationError("Write hours:minutes:seconds, such as 00:03:00.")
        return budget

    def clean(self) -> dict[str, Any]:
        """Refuse what does not go together."""
        cleaned = super().clean() or {}
        self.check_burst(cleaned)
        self.check_quiet(cleaned)
        self.check_sender(cleaned)
        return cleaned

    def check_burst(self, cleaned: dict[str, Any]) -> None:
        burst, rate = cleaned.get("burst"), cleaned.get("rate_per_minute")
        if not burst or "rate_per_minute" in self.errors:
            return
        if not rate:
            self.add_error(
                "burst",
                "A burst is a part of the mails a minute: say how many those are, or leave this empty.",
            )
        elif burst > rate:
            self.add_error(
                "burst",
                f"A burst is a part of the {rate:,} mails a minute: give at most as many, or leave it empty.",
            )

    def check_quiet(self, cleaned: dict[str, Any]) -> None:
        begins, ends = cleaned.get("quiet_from"), cleaned.get("quiet_until")
        if begins and not ends and "quiet_until" not in self.errors:
            self.add_error("quiet_until", "Say until when it is quiet, such as 08:00, or empty “Quiet from”.")
        elif ends and not begins and "quiet_from" not in self.errors:
            self.add_error(
                "quiet_from", "Say from when on it is quiet, such as 22:00, or empty “Quiet until”."
            )
        elif begins and begins == ends:
            self.add_error(
                "quiet_until",
                "That would be quiet all day: choose another time, or pause the stream to stop it.",
            )

    def check_sender(self, cleaned: dict[str, Any]) -> None:
        """Refuse an address that mail of the stream can't come from."""
        if not cleaned.get("sender") or "domain" in self.errors:
            return
        flow = Stream(name=self.instance.name, sender=cleaned["sender"], domain=cleaned.get("domain"))
        try:
            sender_of("", flow)
        except MessageRefused as refused:
            self.add_error("sender", str(refused))
