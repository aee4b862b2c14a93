"""What staff type in about people, checked before it is kept."""

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.template.defaultfilters import filesizeformat
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from contacts import sql
from contacts.attributes import BadAttributes, check
from contacts.importing.rows import tidy_name
from contacts.importing.services import refuse_bad_list_name
from contacts.models import Contact, ContactList, Suppression
from mailkoenig.lib.addresses import InvalidAddress, normalise
from mailkoenig.lib.command import UserError


def clean_address(text: str) -> str:
    """Return the one spelling of an address, or say why it is none."""
    try:
        return normalise(text)
    except InvalidAddress as error:
        raise ValidationError(str(error)) from error


class ContactForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """One person."""

    class Meta:
        model = Contact
        fields = ["email", "name", "attributes"]
        widgets = {"attributes": UnfoldAdminTextareaWidget(attrs={"rows": 6, "spellcheck": "false"})}
        help_texts = {
            "attributes": 'Merge tags of this person, such as {"city": "Kiel"}: names in small letters, each with a text.'
        }

    def clean_email(self) -> str:
        return clean_address(self.cleaned_data["email"])

    def clean_name(self) -> str:
        return tidy_name(self.cleaned_data["name"])

    def clean_attributes(self) -> dict[str, Any]:
        attributes = self.cleaned_data["attributes"]
        if attributes is None:
            return {}
        try:
            return check(attributes)
        except BadAttributes as error:
            raise ValidationError(str(error)) from error


class SuppressionForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """An address that a person in charge wants no mail to go to."""

    class Meta:
        model = Suppression
        fields = ["address", "scope", "source"]
        labels = {"source": "Why"}
        help_texts = {
            "scope": "“Marketing” stops campaigns and lets receipts through; “all” stops everything.",
            "source": "Such as “asked by phone”. It is kept with your name.",
        }

    def clean_address(self) -> str:
        return clean_address(self.cleaned_data["address"])

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        standing = sql.standing(self.cleaned_data.get("address", ""))
        if standing and (
            standing.scope == Suppression.Scope.ALL or standing.scope == self.cleaned_data.get("scope")
        ):
            self.add_error("address", f"It is suppressed already: {standing.reason}.")
        return cleaned

    def validate_constraints(self) -> None:
        """Leave a standing suppression to `clean`: it may be widened."""


class ImportForm(forms.Form):
    """A file, and what to do with it."""

    file = forms.FileField(
        label="File",
        allow_empty_file=True,
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".csv,.tsv,.txt,text/csv"}),
        help_text="A CSV file whose first row names the columns. One of them must be called “email”.",
    )
    list = forms.ModelChoiceField(
        ContactList.objects.none(),
        required=False,
        label="Put them on a list",
        widget=UnfoldAdminSelectWidget(),
    )
    new_list = forms.CharField(
        required=False,
        max_length=100,
        label="Or on a new list called",
        widget=UnfoldAdminTextInputWidget(),
    )
    update = forms.BooleanField(
        required=False,
        label="Change names and attributes of known contacts too",
        widget=UnfoldBooleanSwitchWidget(),
        help_text="An empty cell erases nothing. Nobody who left, bounced or complained is ever brought back.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["list"].queryset = ContactList.objects.order_by("name")  # type: ignore[attr-defined]  # it is a ModelChoiceField

    def clean_file(self) -> "UploadedFile[bytes]":
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if file.size is not None and file.size > settings.IMPORT_MAX_BYTES:
            raise ValidationError(
                f"The file is larger than {filesizeformat(settings.IMPORT_MAX_BYTES)}: split it, or use "
                "“manage.py import_contacts” on the server."
            )
        return file

    def clean_new_list(self) -> str:
        name: str = self.cleaned_data["new_list"].strip()
        try:
            refuse_bad_list_name(name)
        except UserError as error:
            raise ValidationError(str(error)) from error
        return name

    def clean(self) -> dict[str, Any] | None:
        if self.cleaned_data.get("list") and self.cleaned_data.get("new_list"):
            self.add_error("new_list", "Choose a list, or name a new one: not both.")
        return super().clean()

    @property
    def list_name(self) -> str:
        """The name of the list that was chosen or written; empty for none."""
        chosen: ContactList | None = self.cleaned_data.get("list")
        return chosen.name if chosen else self.cleaned_data.get("new_list", "")
