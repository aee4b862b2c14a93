"""What may be done to a campaign."""

from datetime import datetime

from django.db import transaction
from django.db.models.functions import Now

from campaigns import reports
from campaigns.content import Compiled, ContentError, Source, check, compile
from campaigns.models import Campaign, SenderDomain
from campaigns.services.levers import said
from campaigns.sql import messages
from contacts.models import Membership
from mailkoenig.lib import audit, db
from mailkoenig.lib.audit import OWN_CODE
from mailkoenig.lib.clocks import clock
from mailkoenig.lib.command import UserError
from mailkoenig.providers import mailgun

Status = Campaign.Status
EDITABLE = (Status.DRAFT, Status.SCHEDULED, Status.PAUSED)


class NotSendable(UserError):
    """The campaign can't do this now; the message says why and what to do."""


def source(campaign: Campaign) -> Source:
    """Return what the author wrote."""
    return Source(
        subject=campaign.subject,
        preheader=campaign.preheader,
        body=campaign.body,
        body_format=campaign.body_format,
    )


def compiled(campaign: Campaign, *, known: frozenset[str] | None = None) -> Compiled:
    """Return a campaign's mail, ready for any person; raises ContentError that names field, line and tag."""
    return compile(source(campaign), dialect=mailgun.DIALECT, known=known)


def content_errors(campaign: Campaign) -> list[ContentError]:
    """Return everything that is wrong with what is written, each with its field, line and tag."""
    return check(source(campaign), dialect=mailgun.DIALECT)


def start(campaign: Campaign, *, by: str = OWN_CODE) -> None:
    """Send now: the worker fixes the people and begins. Raises NotSendable."""
    with transaction.atomic():
        held = locked(campaign, "send", Status.DRAFT, Status.SCHEDULED)
        check_sendable(held)
        held.status = Status.SENDING
        held.started_at = Now()
        held.status_reason = ""
        held.save(update_fields=["status", "started_at", "status_reason", "domain"])
        audit.note(on=held, what="Sending began.", by=by)
        messages.notify("campaigns")
    campaign.refresh_from_db()


def schedule(campaign: Campaign, *, at: datetime, by: str = OWN_CODE) -> None:
    """Send at a moment to come, with the same checks as now. Raises NotSendable."""
    with transaction.atomic():
        held = locked(campaign, "schedule", Status.DRAFT, Status.SCHEDULED)
        if at <= db.now():
            raise NotSendable(f"{at:%Y-%m-%d %H:%M %Z} has passed: choose a moment to come, or send now.")
        check_sendable(held)
        held.status = Status.SCHEDULED
        held.scheduled_at = at
        held.status_reason = ""
        held.save(update_fields=["status", "scheduled_at", "status_reason", "domain"])
        audit.note(on=held, what=f"Scheduled for {clock(at)}.", by=by)
    campaign.refresh_from_db()


def unschedule(campaign: Campaign, *, by: str = OWN_CODE) -> None:
    """Make a scheduled campaign a draft again. Raises NotSendable."""
    move(campaign, "unschedule", Status.DRAFT, Status.SCHEDULED, what="Made a draft again.", by=by)


def pause(campaign: Campaign, *, reason: str = "", by: str = OWN_CODE) -> None:
    """Stop after the calls that are open; who is left keeps their place. Raises NotSendable."""
    why, what = reason or "Paused by a person.", said("Paused", reason)
    move(campaign, "pause", Status.PAUSED, Status.SENDING, reason=why, what=what, by=by)


def resume(campaign: Campaign, *, by: str = OWN_CODE) -> None:
    """Go on with who is left; nobody gets it again. Raises NotSendable."""
    with transaction.atomic():
        held = locked(campaign, "resume", Status.PAUSED)
        check_sendable(held)
        held.status = Status.SENDING
        held.status_reason = ""
        # Whoever lets it go on has seen what came of it so far; the guard rails judge what leaves from now on.
        held.resumed_at = Now()
        held.guard_results = held.guard_bounces = held.guard_complaints = 0
        held.save(
            update_fields=[
                "status",
                "status_reason",
                "domain",
                "resumed_at",
                "guard_results",
                "guard_bounces",
                "guard_complaints",
            ]
        )
        audit.note(on=held, what="Resumed.", by=by)
        messages.notify("campaigns")
    campaign.refresh_from_db()


def cancel(campaign: Campaign, *, reason: str = "", by: str = OWN_CODE) -> None:
    """End it for good after the calls that are open; who is left does not get it. Raises NotSendable."""
    sources = (Status.SCHEDULED, Status.SENDING, Status.PAUSED)
    why, what = reason or "Cancelled by a person.", said("Cancelled", reason)
    move(campaign, "cancel", Status.CANCELLED, *sources, reason=why, what=what, by=by)


def delete(campaign: Campaign) -> None:
    """Forget a campaign that nobody was selected for. Raises NotSendable."""
    with transaction.atomic():
        held = locked(campaign, "delete", Status.DRAFT, Status.CANCELLED)
        if held.recipients.exists():
            raise NotSendable(
                f"{held.name} was sent to people: it stays on record. One that is sending can be cancelled instead."
            )
        held.delete()


def move(campaign: Campaign, verb: str, to: str, *sources: str, what: str, by: str, reason: str = "") -> None:
    """Change the status if it is one of `sources`. Raises NotSendable."""
    with transaction.atomic():
        held = locked(campaign, verb, *sources)
        held.status = to
        held.status_reason = reason
        if to == Status.CANCELLED:
            held.finished_at = Now()
        held.save(update_fields=["status", "status_reason", "finished_at"])
        audit.note(on=held, what=what, by=by)
    campaign.refresh_from_db()


def locked(campaign: Campaign, verb: str, *sources: str) -> Campaign:
    """Lock the row and return it as the database has it now; else NotSendable."""
    held = Campaign.objects.select_for_update(of=["self"], no_key=True).get(pk=campaign.pk)
    if held.status not in sources:
        allowed = " or ".join(Status(status).label.lower() for status in sources)
        raise NotSendable(
            f"Campaign {campaign.pk} is {Status(held.status).label.lower()}: you can {verb} one that is {allowed}."
        )
    return held


def check_sendable(campaign: Campaign) -> None:
    """Raise NotSendable with every reason why this campaign can't go out; fill in the shared domain if it has none."""
    problems = [*sender_problems(campaign), *audience_problems(campaign), *content_problems(campaign)]
    if problems:
        raise NotSendable(" ".join(problems))


def sender_problems(campaign: Campaign) -> list[str]:
    """Say what is wrong with who sends it."""
    if campaign.domain is None:
        campaign.domain = SenderDomain.objects.filter(is_shared=True).order_by("id").first()
    if campaign.domain is None:
        return ["It has no sender domain, and none is shared: choose one."]
    if campaign.domain.status == SenderDomain.Status.PAUSED:
        return [
            f"Sending from {campaign.domain} is paused ({campaign.domain.paused_reason}): resume the domain first."
        ]
    return []


def audience_problems(campaign: Campaign) -> list[str]:
    """Say what is wrong with who gets it."""
    if campaign.snapshot_finished_at or campaign.snapshot_contact:
        return []
    if not campaign.lists.exists():
        return ["It goes to no list: choose at least one."]
    people = Membership.objects.filter(list__in=campaign.lists.all(), contact__status="active")
    if not people.exists():
        return [
            "Nobody on its lists can be mailed: they are empty, or all of them have left, bounced or complained."
        ]
    return []


def content_problems(campaign: Campaign) -> list[str]:
    """Say what is wrong with what is written."""
    try:
        asked = compiled(campaign).attributes
        if asked:
            compiled(campaign, known=reports.known_attributes(asked))
    except ContentError as error:
        return [str(error)]
    return []
