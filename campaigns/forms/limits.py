"""What mail goes through, and how quickly."""

import re
from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings

from campaigns.models import SenderDomain, Stream
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


class StreamForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """The limits of a flow of mail."""

    class Meta:
        model = Stream
        fields = [
            "name",
            "kind",
            "concurrency",
            "rate_per_minute",
            "batch_size",
            "max_attempts",
            "lease",
            "age_budget",
            "on_unknown",
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("lease", "age_budget"):
            if name in self.fields:
                help_text = self.fields[name].help_text
                self.fields[name].help_text = f"{help_text} Hours:minutes:seconds, such as 00:10:00."

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
