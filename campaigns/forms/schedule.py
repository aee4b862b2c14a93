"""When a campaign goes out."""

from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone
from unfold import widgets

from mailkoenig.lib.clocks import DoubledHour, MissingHour, Turn, moment, offset


class WallField(forms.DateTimeField):
    """A time as a clock on the wall shows it: Django's field would add the zone, and refuse some hours without a word that helps."""

    formats = ("%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")

    def to_python(self, value: Any) -> datetime | None:
        """Return the time without a zone."""
        if value in self.empty_values:
            return None
        for form in self.formats:
            try:
                return datetime.strptime(str(value).strip(), form)
            except ValueError:
                continue
        raise forms.ValidationError(self.error_messages["invalid"], code="invalid")


class ScheduleForm(forms.Form):
    """A moment to come, as the clocks on our walls show it."""

    at = WallField(
        label="Starts at",
        widget=forms.DateTimeInput(
            format="%Y-%m-%dT%H:%M",
            attrs={"type": "datetime-local", "class": " ".join(widgets.INPUT_CLASSES)},
        ),
        error_messages={"invalid": "Write it like 2027-03-29 09:00."},
    )
    turn = forms.TypedChoiceField(
        coerce=lambda value: Turn(int(value)), required=False, empty_value=None, widget=forms.HiddenInput
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zone, now = timezone.get_current_timezone(), timezone.localtime()
        self.fields[
            "at"
        ].help_text = f"By the clocks in {zone}, where it is {now:%Y-%m-%d %H:%M} ({offset(now)}) now."
        self.fields["turn"].choices = [("0", "first"), ("1", "second")]  # type: ignore[attr-defined]  # a choice field

    def clean(self) -> dict[str, Any]:
        """Turn the time on the wall into a moment."""
        cleaned = super().clean() or {}
        wall = cleaned.get("at")
        if wall is None:
            return cleaned
        zone = timezone.get_current_timezone()
        try:
            cleaned["at"] = moment(wall, zone=zone, turn=cleaned.get("turn"))
        except MissingHour as missing:
            self.add_error(
                "at",
                f"The clocks in {zone} go forward that night: {wall:%H:%M} does not exist on {wall:%Y-%m-%d}. "
                f"Choose {missing.instead:%H:%M} or another time.",
            )
        except DoubledHour as doubled:
            self.ask_for_turn(doubled)
            self.add_error(
                "at",
                f"The clocks in {zone} go back that night: {wall:%H:%M} happens twice on {wall:%Y-%m-%d}. "
                "Choose which of the two below.",
            )
        return cleaned

    def ask_for_turn(self, doubled: DoubledHour) -> None:
        """Show the choice between the two moments."""
        field = self.fields["turn"]
        field.label = "Which of the two"
        field.widget = widgets.UnfoldAdminRadioSelectWidget()
        choices = [
            ("0", f"the first, at {offset(doubled.first)}, before the clocks go back"),
            ("1", f"the second, at {offset(doubled.second)}, after"),
        ]
        field.choices = choices  # type: ignore[attr-defined]  # a choice field
