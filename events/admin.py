"""What came back, to read: the rows are the provider's words, so nobody adds, changes or deletes one."""

import json
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from campaigns.admin.levers import Lever, LeverAdmin
from campaigns.admin.message import MessageAdmin
from campaigns.models import Message
from campaigns.services import NotErasable
from contacts.admin.contact import ContactAdmin
from contacts.models import Contact
from events import erasing
from events.models import Event, PollCursor
from mailkoenig.lib.admin import MachineAdmin
from mailkoenig.lib.marks import Look, badge, link, shortened, when
from mailkoenig.providers.mailgun.payload import is_machine
from mailkoenig.providers.types import EventType

admin.site.unregister(Contact)


@admin.register(Contact)
class ErasableContactAdmin(LeverAdmin, ContactAdmin):
    """The contacts' own pages, which know nothing of mail and events, with the one act on top that reaches all of them."""

    levers = {
        "erase": Lever(
            "Erase for good",
            "Erase for good",
            "person_remove",
            lambda contact: [
                f"Erase {contact} everywhere: the contact, the messages to this address, and what the provider reported.",
                "Campaigns keep their numbers and lose the name. What stands against mailing this address still stands, "
                "kept so that nobody can read it.",
            ],
            "This can't be taken back.",
            lambda contact, reason, by: any(erasing.erase(contact.email, by=by)),
            "erased.",
            is_danger=True,
        )
    }

    def may_pull(self, request: HttpRequest, row: Any) -> bool:
        return bool(self.has_delete_permission(request, row))

    def pull(self, request: HttpRequest, object_id: str, *, name: str) -> HttpResponse:
        try:
            response = super().pull(request, object_id, name=name)
        except NotErasable as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(self.address("change", object_id))
        if request.method == "POST" and not Contact.objects.filter(pk=object_id).exists():
            return HttpResponseRedirect(self.address("changelist"))
        return response

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        response = super().render_change_form(request, context, *args, **kwargs)
        contact: Contact | None = kwargs.get("obj")
        if contact is not None and self.may_pull(request, contact):
            acts = response.context_data.get("bar_acts", [])
            response.context_data["bar_acts"] = [*acts, ("../erase/", "Erase for good", "person_remove")]
        return response


LOOKS = {
    EventType.ACCEPTED: Look("blue", "send"),
    EventType.DELIVERED: Look("green", "check"),
    EventType.DEFERRED: Look("amber", "hourglass_top"),
    EventType.BOUNCED: Look("red", "undo"),
    EventType.REJECTED: Look("red", "block"),
    EventType.SUPPRESSED: Look("red", "do_not_disturb_on"),
    EventType.OPENED: Look("green", "drafts"),
    EventType.CLICKED: Look("green", "ads_click"),
    EventType.UNSUBSCRIBED: Look("amber", "logout"),
    EventType.COMPLAINED: Look("red", "report"),
    EventType.OTHER: Look("grey", "help"),
}
MEANINGS = {
    EventType.ACCEPTED: "The provider took the mail.",
    EventType.DELIVERED: "The reader's server took the mail.",
    EventType.DEFERRED: "The reader's server asked to try again later, and the provider does. Nothing follows from it.",
    EventType.BOUNCED: "The address is dead: it gets no mail any more.",
    EventType.REJECTED: "It did not arrive, for a reason that says nothing about the address: mail to it goes on.",
    EventType.SUPPRESSED: "The provider did not try: the address is on its own list, and now on ours.",
    EventType.OPENED: "The mail's images were fetched, by a reader or by a program.",
    EventType.CLICKED: "A link was followed, by a reader or by a program.",
    EventType.UNSUBSCRIBED: "The reader left by the provider's own link: no campaigns any more.",
    EventType.COMPLAINED: "The reader called it spam: the address gets no mail any more.",
    EventType.OTHER: "Kept as it came; nothing follows from it.",
}
RECIPIENT, MESSAGE = "campaign_recipient__id__exact", "message__id__exact"
SHOWN = 50


class TypeFilter(admin.SimpleListFilter):
    """By type, without asking a table of millions which types it holds."""

    title = "what happened"
    parameter_name = "event_type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind.value, kind.value) for kind in EventType]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        return queryset.filter(event_type=self.value()) if self.value() else queryset


@admin.register(Event)
class EventAdmin(MachineAdmin):
    list_display = ["happened", "what", "address", "campaign", "reason_in_short", "received"]
    list_display_links = ["happened"]
    list_filter = [TypeFilter]
    ordering = ["-id"]
    search_fields = ["address__startswith"]
    search_help_text = "The beginning of an address"
    empty_title = "Nothing came back yet"
    empty_text = (
        "What the provider reports about each mail shows here: accepted, delivered, opened, bounced. "
        "If mail has left and this stays empty, its webhooks do not reach this site."
    )
    fieldsets = [
        (None, {"fields": ["what", "meaning", "reason", "happened", "received"]}),
        ("About", {"fields": ["address", "contact", "recipient", "batch"]}),
        (
            "As it came",
            {"fields": ["provider", "domain", "provider_event_id", "severity", "source", "payload"]},
        ),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        # The join also tells a recipient that is gone, which no foreign key watches, from one that is there.
        found: QuerySet[Event] = super().get_queryset(request)
        return found.select_related("campaign_recipient__campaign", "message__stream").defer(
            "campaign_recipient__campaign__body", "message__html", "message__text"
        )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Event], search_term: str
    ) -> tuple[QuerySet[Event], bool]:
        """Take the whole term as one beginning, in the case that addresses are kept in."""
        term = search_term.strip().lower()
        return (queryset.filter(address__startswith=term) if term else queryset), False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        title = "Events of one mail" if {RECIPIENT, MESSAGE} & set(request.GET) else "Events"
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    @admin.display(description="What happened")
    def what(self, event: Event) -> SafeString:
        kind = kind_of(event)
        by_program = kind in (EventType.OPENED, EventType.CLICKED) and is_machine(event.raw_payload)
        return badge(f"{kind.value} by a program" if by_program else kind.value, LOOKS[kind])

    @admin.display(description="Which means")
    def meaning(self, event: Event) -> str:
        return MEANINGS[kind_of(event)]

    @admin.display(description="When")
    def happened(self, event: Event) -> SafeString | None:
        return when(event.occurred_at)

    @admin.display(description="Received")
    def received(self, event: Event) -> SafeString | None:
        return when(event.received_at)

    @admin.display(description="Campaign or stream", empty_value="mail we do not know")
    def campaign(self, event: Event) -> str | None:
        if event.message:
            return str(event.message.stream)
        return str(event.campaign_recipient.campaign) if event.campaign_recipient else None

    @admin.display(description="Reason")
    def reason_in_short(self, event: Event) -> str:
        return shortened(event.reason)

    @admin.display(description="Recipient")
    def recipient(self, event: Event) -> str:
        if event.message:
            text = f"{event.message}: {event.message.get_status_display()}"
            return link(text, reverse("admin:campaigns_message_change", args=[event.message.pk]))
        found = event.campaign_recipient
        if found is None:
            return "mail that we do not know, or no longer"
        text = f"{found.campaign}: {found.get_status_display()}"
        return link(text, reverse("admin:campaigns_recipient_change", args=[found.pk]))

    @admin.display(description="Batch")
    def batch(self, event: Event) -> str:
        if event.batch_id is None:
            return "not named"
        return link(str(event.batch_id), reverse("admin:campaigns_sendbatch_change", args=[event.batch_id]))

    @admin.display(description="Contact")
    def contact(self, event: Event) -> str:
        found = Contact.objects.filter(email=event.address).first() if event.address else None
        if found is None:
            return "nobody by this address"
        status = str(Contact.Status(found.status).label)
        if not admin.site.is_registered(Contact):
            return status
        return link(status, reverse("admin:contacts_contact_change", args=[found.pk]))

    @admin.display(description="Payload")
    def payload(self, event: Event) -> SafeString:
        text = json.dumps(event.raw_payload, indent=2, ensure_ascii=False, sort_keys=True)
        return format_html('<pre class="overflow-x-auto whitespace-pre text-xs" tabindex="0">{}</pre>', text)


def kind_of(event: Event) -> EventType:
    """Return the type of a row; one of an older or newer version may be none of ours."""
    return EventType(event.event_type) if event.event_type in set(EventType) else EventType.OTHER


admin.site.unregister(Message)


@admin.register(Message)
class TracedMessageAdmin(MessageAdmin):
    """The messages' own pages, which know nothing of events, with what came back about each."""

    def get_fieldsets(self, request: HttpRequest, obj: Message | None = None) -> list[tuple[str | None, Any]]:
        groups = super().get_fieldsets(request, obj)
        if not request.user.has_perm("events.view_event"):
            return groups
        return [*groups[:-1], ("What came back", {"fields": ["events"]}), groups[-1]]

    @admin.display(description="Events")
    def events(self, message: Message) -> SafeString | str:
        found = Event.objects.filter(message=message.pk).defer("raw_payload").order_by("-occurred_at")[:SHOWN]
        lines = (
            (
                when(event.occurred_at),
                link(kind_of(event).value, reverse("admin:events_event_change", args=[event.pk])),
                event.reason,
            )
            for event in found
        )
        return format_html_join("", "<div>{} {} {}</div>", lines) or "nothing yet"


@admin.register(PollCursor)
class PollCursorAdmin(MachineAdmin):
    list_display = ["domain", "read", "under_way", "next", "finding_in_short"]
    list_display_links = ["domain"]
    list_select_related = ["domain"]
    ordering = ["domain__name"]
    empty_title = "No log was read yet"
    empty_text = (
        "Every few minutes a worker reads Mailgun's own log of each sender domain, for what no webhook brought. How far it "
        "is shows here. It needs MAILGUN_API_KEY and a running worker."
    )
    fieldsets = [
        (None, {"fields": ["domain", "read", "under_way", "next"]}),
        ("If it can't be read", {"fields": ["finding", "failures"]}),
    ]

    @admin.display(description="Read up to")
    def read(self, cursor: PollCursor) -> SafeString | None:
        return when(cursor.read_to)

    @admin.display(description="Reading now, up to", empty_value="no")
    def under_way(self, cursor: PollCursor) -> SafeString | None:
        return when(cursor.position)

    @admin.display(description="Next")
    def next(self, cursor: PollCursor) -> SafeString | None:
        return when(cursor.next_at)

    @admin.display(description="Why it could not be read", empty_value="")
    def finding_in_short(self, cursor: PollCursor) -> str:
        return shortened(cursor.finding)
