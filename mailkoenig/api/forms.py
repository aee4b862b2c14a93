"""A token as it is asked for."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from campaigns.models import Stream
from mailkoenig.api.models import ApiToken


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """Who it is for and what it may do."""

    streams = forms.ModelMultipleChoiceField(
        Stream.objects.order_by("kind", "name"),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text="Whose mail it may write and read. A stream for campaigns allows campaigns.",
    )

    class Meta:
        model = ApiToken
        fields = [
            "name",
            "streams",
            "all_streams",
            "holds_contacts",
            "can_stop_sending",
            "can_read",
            "can_write",
            "rate_per_minute",
        ]
        help_texts = {
            "all_streams": "All transactional streams, those made later included; campaigns only where chosen by name."
        }

    def clean_name(self) -> str:
        """Refuse a name that would not tell two apart, or that a log line could not hold."""
        name = " ".join(self.cleaned_data["name"].split())
        if not name.isprintable():
            raise forms.ValidationError("Write a name on one line, such as shop.")
        if ApiToken.objects.filter(name=name, revoked_at=None).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError("A token of this name is in use: revoke it first, or choose another.")
        return name

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean() or {}
        if self.instance.pk:
            return cleaned  # a token stays as it was made
        if not any(
            cleaned.get(name) for name in ("streams", "all_streams", "holds_contacts", "can_stop_sending")
        ):
            self.add_error(
                "streams",
                "Choose what it is for: a stream, all streams, contacts and lists, or the emergency stop.",
            )
        if not (cleaned.get("can_read") or cleaned.get("can_write")):
            self.add_error("can_read", "Let it read, write or both.")
        return cleaned
