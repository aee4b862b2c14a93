"""What messages of one kind say: written once, checked while it is typed, seen with made-up values before anybody gets it."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.http import urlencode
from unfold.admin import ModelAdmin

from campaigns import services
from campaigns.admin.preview import POLICY, preheader
from campaigns.content import Compiled, ContentError, Person
from campaigns.forms import MessageTemplateForm
from campaigns.models import MessageTemplate

PREFIX = "value-"
LONGEST = 500


@admin.register(MessageTemplate)
class MessageTemplateAdmin(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    form = MessageTemplateForm
    change_form_template = "admin/campaigns/messagetemplate/change_form.html"
    list_display = ["name", "subject", "updated_at"]
    search_fields = ["name", "subject"]
    search_help_text = "Part of a name or subject"
    actions = None
    warn_unsaved_form = True
    empty_title = "No message templates yet"
    empty_text = (
        "A template is what all receipts, or all password resets, say. Whoever sends one names the template and gives its "
        "values, such as an order's number. A change counts from the next message on."
    )
    fields = ["name", "subject", "preheader", "body_format", "body"]

    def get_urls(self) -> list[Any]:
        own = [
            path(
                f"<path:object_id>/{route}/",
                self.admin_site.admin_view(view),
                name=f"campaigns_messagetemplate_{name}",
            )
            for route, name, view in (
                ("preview/html", "preview_html", self.preview_html),
                ("preview", "preview", self.preview),
            )
        ]
        return [*own, *super().get_urls()]

    def found(self, request: HttpRequest, object_id: str) -> MessageTemplate | None:
        """Return the template if this person may see it."""
        template: MessageTemplate | None = self.get_object(request, object_id)
        if not self.has_view_permission(request, template):
            raise PermissionDenied
        return template

    def preview(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show both parts with made-up values, and a field for each of them."""
        template = self.found(request, object_id)
        if template is None:
            return HttpResponseRedirect(reverse("admin:campaigns_messagetemplate_changelist"))
        mail, problem, values = None, "", {}
        try:
            content = services.compiled_template(template)
            values = sample(request, content)
            mail = content.render(reader(values))
        except ContentError as error:
            problem = str(error)
        query = urlencode({f"{PREFIX}{name}": value for name, value in values.items()})
        frame = reverse("admin:campaigns_messagetemplate_preview_html", args=[template.pk])
        return TemplateResponse(
            request,
            "admin/campaigns/messagetemplate/preview.html",
            {
                **self.admin_site.each_context(request),
                "opts": self.opts,
                "title": f"Preview: {template}",
                "original": template,
                "mail": mail,
                "problem": problem,
                "preheader": preheader(template.preheader, reader(values)),
                "values": [(f"{PREFIX}{name}", name, value) for name, value in values.items()],
                "frame": f"{frame}?{query}",
                "back": reverse("admin:campaigns_messagetemplate_change", args=[template.pk]),
            },
        )

    def preview_html(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Return the HTML part alone, for the frame."""
        template = self.found(request, object_id)
        if template is None:
            return HttpResponse("There is no such template.", status=404, content_type="text/plain")
        try:
            content = services.compiled_template(template)
            text = content.render(reader(sample(request, content))).html
            response = HttpResponse(text.replace("<head>", '<head><base target="_blank">', 1))
        except ContentError as error:
            response = HttpResponse(str(error), content_type="text/plain; charset=utf-8")
        response["Content-Security-Policy"] = POLICY.format(pictures="data:")
        response["Referrer-Policy"] = "no-referrer"
        response["Cache-Control"] = "no-store"
        return response


def sample(request: HttpRequest, content: Compiled) -> dict[str, str]:
    """Return a value for each variable of a mail: what was typed, else its own name."""
    return {
        name: request.GET.get(f"{PREFIX}{name}", name.replace("_", " "))[:LONGEST]
        for name in sorted(content.attributes)
    }


def reader(values: dict[str, str]) -> Person:
    """Return somebody who does not exist, with these values."""
    return Person("alex@example.com", "Alex Example", values, "")
