"""Imports: the page that takes a file, and the account of each that was."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from contacts.forms import ImportForm
from contacts.importing import Report, import_contacts
from contacts.importing.services import REFUSALS_KEPT
from contacts.models import ContactImport, ContactList
from mailkoenig.lib.admin import MachineAdmin
from mailkoenig.lib.command import UserError
from mailkoenig.lib.counting import many
from mailkoenig.lib.marks import when

REFUSALS_A_PAGE = 100


def may_import(request: HttpRequest) -> bool:
    """Say whether this member of staff may bring contacts in, and change those who are there."""
    rights = ("contacts.add_contactimport", "contacts.add_contact", "contacts.change_contact")
    return bool(request.user.has_perms(rights))


def upload(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """Show the form; on POST import the file and lead to the account of it."""
    form = ImportForm(request.POST or None, request.FILES or None, initial={"list": request.GET.get("list")})
    if request.method == "POST" and form.is_valid():
        report = taken(form, request)
        if report is not None:
            contact_import = ContactImport.objects.get(pk=report.contact_import or 0)
            model_admin.log_addition(request, contact_import, f"Imported {contact_import}.")
            messages.success(
                request, f"{many(report.read, 'row')} read, {many(report.created, 'contact')} created."
            )
            return HttpResponseRedirect(
                reverse("admin:contacts_contactimport_change", args=[contact_import.pk])
            )
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": "Import contacts",
        "form": form,
    }
    return TemplateResponse(
        request, "admin/contacts/contact/import.html", context, status=400 if form.errors else 200
    )


def taken(form: ImportForm, request: HttpRequest) -> Report | None:
    """Import the file of a form; None, with the reason on the form, where it cannot be read."""
    file = form.cleaned_data["file"]
    user = request.user if isinstance(request.user, User) else None
    try:
        return import_contacts(
            file.file,
            file_name=file.name,
            list_name=form.list_name,
            update=form.cleaned_data["update"],
            by=user,
        )
    except UserError as error:
        form.add_error("file", str(error))
        return None


@admin.register(ContactImport)
class ContactImportAdmin(MachineAdmin):
    change_form_template = "admin/contacts/contactimport/change_form.html"
    list_display = ["file_name", "list", "read", "created", "updated", "skipped", "refused", "by", "when"]
    list_select_related = ["list", "imported_by"]
    ordering = ["-id"]
    search_fields = ["file_name__icontains"]
    search_help_text = "Part of a file's name"
    empty_title = "No imports yet"
    empty_text = "Every file of contacts that was brought in shows here, with the rows that were not taken. Begin at Contacts, “Import contacts”."
    fields = ["file_name", "list", "known", "by", "when"]

    @admin.display(description="Known contacts")
    def known(self, contact_import: ContactImport) -> str:
        return (
            "names and attributes changed too" if contact_import.update else "kept their names and attributes"
        )

    @admin.display(description="By", empty_value="the command line")
    def by(self, contact_import: ContactImport) -> str | None:
        return contact_import.imported_by.get_username() if contact_import.imported_by else None

    @admin.display(description="When")
    def when(self, contact_import: ContactImport) -> SafeString | None:
        return when(contact_import.created_at)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        contact_import = self.get_object(request, object_id)
        extra = dict(extra_context or {})
        if contact_import is not None and self.has_view_permission(request, contact_import):
            extra |= account(contact_import, page=request.GET.get("p", "1"))
        response: HttpResponse = super().change_view(request, object_id, form_url, extra)
        return response


def account(contact_import: ContactImport, *, page: str) -> dict[str, Any]:
    """Return what the page of an import shows beside its fields: rows not taken, and what to do next."""
    missing = contact_import.skipped + contact_import.refused
    contacts: ContactList | None = contact_import.list
    counts = ("created", "updated", "unchanged", "skipped", "refused")
    return {
        "counts": [(name, getattr(contact_import, name)) for name in counts],
        "refusals": Paginator(contact_import.refusals.order_by("row"), REFUSALS_A_PAGE).get_page(page),
        "missing": missing,
        "kept": REFUSALS_KEPT if missing > REFUSALS_KEPT else 0,
        "contacts_url": reverse("admin:contacts_contact_changelist")
        + (f"?list={contacts.pk}" if contacts else ""),
    }
