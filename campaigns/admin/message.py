"""Messages: what callers handed in, what became of each, and the two things that a person may do about it."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.urls import path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import content_disposition_header
from django.utils.safestring import SafeString

from campaigns import services, waits
from campaigns.admin import letters, message_words
from campaigns.admin.levers import IN_THE_TRAIL, WITH_EACH_MAIL, Lever, LeverAdmin
from campaigns.admin.message_filters import AgeFilter, StatusFilter, StreamFilter
from campaigns.admin.preview import POLICY, may_see_contacts
from campaigns.admin.words import MESSAGE, badge, link, shortened, when
from campaigns.models import Attachment, Message, SentMessage
from campaigns.sql import letters as sql
from mailkoenig.lib.admin import CappedList, MachineAdmin

Status = Message.Status
PERSONAL = ("email", "name", "reply_to", "subject", "metadata", "headers", "files")
NOT_SHOWN = "not shown: you may not see people"


class MessageList(CappedList):
    """Leaves what the mails say where it is: a page of them may be megabytes."""

    def get_queryset(self, request: HttpRequest, **kwargs: Any) -> QuerySet[Message]:
        found: QuerySet[Message] = super().get_queryset(request, **kwargs)
        return found.defer("html", "text", "headers", "metadata")


@admin.register(Message)
class MessageAdmin(LeverAdmin, MachineAdmin):
    change_form_template = "admin/campaigns/message/change_form.html"
    list_display = ["key", "to", "subject_in_short", "stream", "state"]
    list_filter = [StreamFilter, StatusFilter, AgeFilter]
    list_select_related = ["stream", "domain"]
    ordering = ["-id"]
    search_fields = ["idempotency_key"]
    search_help_text = "A whole key, such as order-1842:receipt:v1, or the beginning of an address"
    actions = ["cancel_selected", "requeue_selected"]
    empty_title = "No messages yet"
    empty_text = (
        "Receipts, password resets and whatever else your shop hands in shows here: by POST /api/v1/messages, or from "
        "Python with enqueue_message."
    )
    levers = {
        "cancel": Lever(
            "Cancel",
            "Cancel it",
            "block",
            lambda message: [
                f"Take {message} back before it is sent.",
                "Its key stays used: whoever asks for it again is told that it was cancelled.",
            ],
            "This can't be taken back.",
            lambda message, reason, by: bool(services.cancel_messages([message.pk], by=by, reason=reason)),
            "cancelled.",
            reason_shown=WITH_EACH_MAIL,
            is_danger=True,
        ),
        "requeue": Lever(
            "Requeue",
            "Try it again",
            "replay",
            lambda message: [
                f"Try {message} again, with attempts anew.",
                f"It had died: {message.reason}",
            ],
            "If the books show that it was sent after all, it is not sent twice.",
            lambda message, reason, by: bool(
                services.requeue_messages(ids=[message.pk], by=by, reason=reason)
            ),
            "is ready again.",
            reason_shown=IN_THE_TRAIL,
        ),
    }

    # The list

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[MessageList]:
        return MessageList

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        hidden = () if may_see_contacts(request) else ("to", "subject_in_short")
        columns = [name for name in self.list_display if name not in hidden]
        return [*columns, message_words.why_column(), "handed_in"]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Message], search_term: str
    ) -> tuple[QuerySet[Message], bool]:
        """Find one key, else addresses that begin so, each by its index."""
        term = search_term.strip()
        if not term:
            return queryset, False
        by_key = queryset.filter(idempotency_key=term)
        if not may_see_contacts(request) or Message.objects.filter(idempotency_key=term).exists():
            return by_key, False
        return queryset.filter(email__startswith=term.lower()), False

    @admin.display(description="Key")
    def key(self, message: Message) -> str:
        return message.idempotency_key

    @admin.display(description="To")
    def to(self, message: Message) -> str:
        return message.email

    @admin.display(description="Subject")
    def subject_in_short(self, message: Message) -> str:
        return shortened(message.subject, length=50)

    @admin.display(description="State")
    def state(self, message: Message) -> SafeString:
        status = Status(message.status)
        return badge(str(status.label).capitalize(), MESSAGE[status])

    @admin.display(description="Handed in")
    def handed_in(self, message: Message) -> SafeString | None:
        return when(message.created_at)

    # Who may do what

    def may_pull(self, request: HttpRequest, row: Any) -> bool:
        return self.has_requeue_permission(request) and self.has_view_permission(request, row)

    def has_requeue_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("campaigns.requeue_message"))

    @admin.action(description="Cancel what is ready", permissions=["requeue"])
    def cancel_selected(self, request: HttpRequest, queryset: QuerySet[Message]) -> HttpResponse | None:
        return letters.perform(self, request, queryset, act=letters.CANCEL)

    @admin.action(description="Requeue dead letters", permissions=["requeue"])
    def requeue_selected(self, request: HttpRequest, queryset: QuerySet[Message]) -> HttpResponse | None:
        return letters.perform(self, request, queryset, act=letters.REQUEUE)

    # The page of one

    def get_fieldsets(self, request: HttpRequest, obj: Message | None = None) -> list[tuple[str | None, Any]]:
        unclear = ["decision"] if obj and obj.status == Status.UNKNOWN else []
        said = ["email", "name", "sender", "reply_to", "subject", "files", "headers"]
        groups = [
            (None, ["idempotency_key", "state", *unclear, "why", "stream_link"]),
            ("What it says", said if may_see_contacts(request) else ["sender", "hidden"]),
            ("What was handed in", ["source", "tags", "metadata", "repeats", "handed_in", "expires"]),
            ("What happened", ["attempts", "next", "accepted", "delivered", "opened", "clicked"]),
            ("For the operator", ["domain", "calls", "ledger", "locked_by"]),
        ]
        shown = may_see_contacts(request)
        return [
            (title, {"fields": [name for name in names if shown or name not in PERSONAL]})
            for title, names in groups
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        message: Message | None = self.get_object(request, object_id)
        context = {**(extra_context or {})}
        if message is not None:
            names = {Status.PENDING: ["cancel"], Status.FAILED: ["requeue"]}.get(Status(message.status), [])
            context["levers"] = [
                (name, self.levers[name]) for name in names if self.may_pull(request, message)
            ]
            context["frame"] = (
                reverse("admin:campaigns_message_html", args=[message.pk])
                if may_see_contacts(request)
                else ""
            )
        response: HttpResponse = super().change_view(request, object_id, form_url, context)
        return response

    @admin.display(description="To and subject")
    def hidden(self, message: Message) -> str:
        return NOT_SHOWN

    @admin.display(description="Whether it was sent")
    def decision(self, message: Message) -> SafeString | str:
        """Lead to where a person decides, as long as nobody knows."""
        url = reverse("admin:campaigns_unclearbatch_change", args=[message.batch_id])
        return format_html("nobody knows yet: {}", link("what was asked, and what can be done", url))

    @admin.display(description="Why")
    def why(self, message: Message) -> SafeString | str | None:
        found = waits.of(message.stream.name) if message.status == Status.PENDING else []
        lines = ((line,) for line in message_words.reasons(message, found))
        return format_html_join("", "<div>{}</div>", lines) or (
            "nothing holds it" if message.status == Status.PENDING else None
        )

    @admin.display(description="Stream")
    def stream_link(self, message: Message) -> SafeString:
        return link(str(message.stream), reverse("admin:campaigns_stream_change", args=[message.stream_id]))

    @admin.display(description="Attachments")
    def files(self, message: Message) -> SafeString | str:
        found = sql.files(message.pk)
        lines = (
            (
                reverse("admin:campaigns_message_file", args=[message.pk, file.id]),
                file.name,
                file.content_type,
                filesizeformat(file.size),
            )
            for file in found
        )
        one = '<div><a class="mk-link" href="{}">{}</a> ({}, {})</div>'
        return format_html_join("", one, lines) if found else "none"

    @admin.display(description="Not after")
    def expires(self, message: Message) -> SafeString | str:
        return when(message.expires_at) or "any time"

    @admin.display(description="Next try")
    def next(self, message: Message) -> SafeString | str:
        if message.status != Status.PENDING:
            return "none"
        return (
            when(message.next_attempt_at) if message_words.is_later(message) else None
        ) or "as soon as its turn comes"

    @admin.display(description="Accepted by the provider")
    def accepted(self, message: Message) -> SafeString | str:
        return when(message.sent_at) or (
            message_words.NOBODY_KNOWS if message_words.is_unclear(message) else "no"
        )

    @admin.display(description="Delivered")
    def delivered(self, message: Message) -> SafeString | str:
        return when(message.delivered_at) or message_words.NOT_REPORTED

    @admin.display(description="Opened")
    def opened(self, message: Message) -> SafeString | str:
        return message_words.human_or_machine(message.opened_at, message.machine_opened_at)

    @admin.display(description="Clicked")
    def clicked(self, message: Message) -> SafeString | str:
        return message_words.human_or_machine(message.clicked_at, message.machine_clicked_at)

    @admin.display(description="Calls to the provider")
    def calls(self, message: Message) -> SafeString | str:
        return message_words.calls(message)

    @admin.display(description="In the ledger")
    def ledger(self, message: Message) -> SafeString | str:
        sent = SentMessage.objects.filter(idempotency_key=message.idempotency_key).first()
        if sent:
            return when(sent.accepted_at) or ""
        return (
            f"no: {message_words.NOBODY_KNOWS}"
            if message_words.is_unclear(message)
            else "no: it was never accepted"
        )

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        own = [
            path("<int:object_id>/html/", view(self.html), name="campaigns_message_html"),
            path("<int:object_id>/file/<int:file>/", view(self.file), name="campaigns_message_file"),
        ]
        return [*own, *super().get_urls()]

    def file(self, request: HttpRequest, object_id: int, file: int) -> HttpResponse:
        """Return an attachment to be saved; whatever it is, no browser opens it as a page of ours."""
        if not self.has_view_permission(request) or not may_see_contacts(request):
            raise PermissionDenied
        found = Attachment.objects.filter(pk=file, message=object_id).first()
        if found is None:
            return HttpResponse("There is no such attachment.", status=404, content_type="text/plain")
        headers = {
            "Content-Disposition": content_disposition_header(True, found.name) or "attachment",
            "Content-Security-Policy": "sandbox",
            "Cache-Control": "no-store",
        }
        return HttpResponse(bytes(found.content), content_type="application/octet-stream", headers=headers)

    def html(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Return the HTML part alone, for the frame: nothing in it runs and no link of it leads anywhere."""
        message: Message | None = self.get_object(request, str(object_id))
        if not self.has_view_permission(request, message) or not may_see_contacts(request):
            raise PermissionDenied
        if message is None:
            return HttpResponse("There is no such message.", status=404, content_type="text/plain")
        page = message.html or format_html("<pre>{}</pre>", message.text)
        response = HttpResponse(f'<base target="_blank">{page}')
        response["Content-Security-Policy"] = POLICY.format(pictures="data:")
        response["Referrer-Policy"] = "no-referrer"
        response["Cache-Control"] = "no-store"
        return response
