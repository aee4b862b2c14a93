"""A message template as its author types it."""

from typing import Any

from django import forms

from campaigns import services
from campaigns.forms.campaign import place
from campaigns.models import MessageTemplate


class MessageTemplateForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """What messages of one kind say. Refuses what could not be sent, at the field and line where it stands."""

    class Meta:
        model = MessageTemplate
        fields = ["name", "subject", "preheader", "body_format", "body"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "body" in self.fields:
            self.fields["body"].widget.attrs.update(rows=18, spellcheck="true")
        if self.instance.pk and "name" in self.fields:
            self.fields[
                "name"
            ].help_text = "What callers name it by. With another name, those that use this one are refused."

    def _post_clean(self) -> None:
        """Compile what was typed, once the fields are on the instance."""
        super()._post_clean()  # type: ignore[misc]  # Django's hook for exactly this has no type
        if {"subject", "body"} & set(self.errors) or not {"subject", "body"} <= set(self.fields):
            return
        for error in services.template_errors(self.instance):
            self.add_error(error.field if error.field in self.fields else None, place(error))
