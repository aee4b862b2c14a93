"""What a person types to say that they mean it."""

from typing import Any

from django import forms
from unfold import widgets


class SendForm(forms.Form):
    """The number of people, typed by the person who means it."""

    typed = forms.CharField(
        widget=forms.TextInput(
            attrs={
                "class": " ".join(widgets.INPUT_CLASSES),
                "autocomplete": "off",
                "autofocus": True,
            }
        ),
    )
    shown = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, expected: str, is_number: bool, **kwargs: Any) -> None:
        super().__init__(*args, **{"initial": {"shown": expected}, **kwargs})
        self.expected = expected
        self.fields["typed"].label = f"Type {expected} to confirm"
        if is_number:
            self.fields["typed"].widget.attrs["inputmode"] = "numeric"

    def clean_typed(self) -> str:
        """Refuse another number than there are people, also when it was right a moment ago."""
        typed = plain(self.cleaned_data["typed"])
        if typed == plain(self.expected):
            return typed
        if typed == plain(self.data.get("shown", "")):
            raise forms.ValidationError(
                f"The lists changed meanwhile: it is {self.expected} now. Look again, then type that."
            )
        raise forms.ValidationError(f"That is not what it says above: type {self.expected}.")


def plain(text: str) -> str:
    """Return a number or a name without what people put between digits."""
    bare = text.strip()
    digits = "".join(character for character in bare if character not in " ,.'\u00a0\u202f\u2019")
    return digits if digits.isdigit() else bare


class ReasonForm(forms.Form):
    """Why something is done; `shown` says where others read it."""

    reason = forms.CharField(
        max_length=300,
        widget=forms.TextInput(attrs={"class": " ".join(widgets.INPUT_CLASSES), "autofocus": True}),
    )

    def __init__(self, *args: Any, shown: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].help_text = f"One sentence; it is {shown}."
