"""What may be done to a campaign, and what an event does to its people. The only writer of this app's tables besides `sql`."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from campaigns import reports, states
from campaigns.content import Compiled, ContentError, Source, check, compile
from campaigns.models import Campaign, SendBatch, SenderDomain, Stream
from campaigns.sql import feedback, queue
from contacts.models import Membership
from mailkoenig.lib import db
from mailkoenig.lib.command import UserError
from mailkoenig.providers import mailgun
from mailkoenig.providers.types import EventType, ProviderEvent

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


def start(campaign: Campaign) -> None:
    """Send now: the worker fixes the people and begins. Raises NotSendable."""
    with transaction.atomic():
        held = locked(campaign, "send", Status.DRAFT, Status.SCHEDULED)
        check_sendable(held)
        held.status = Status.SENDING
        held.started_at = Now()
        held.status_reason = ""
        held.save(update_fields=["status", "started_at", "status_reason", "domain"])
    campaign.refresh_from_db()


def schedule(campaign: Campaign, *, at: datetime) -> None:
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
    campaign.refresh_from_db()


def unschedule(campaign: Campaign) -> None:
    """Make a scheduled campaign a draft again. Raises NotSendable."""
    move(campaign, "unschedule", Status.DRAFT, Status.SCHEDULED)


def pause(campaign: Campaign, *, reason: str = "Paused by a person.") -> None:
    """Stop after the calls that are open; who is left keeps their place. Raises NotSendable."""
    move(campaign, "pause", Status.PAUSED, Status.SENDING, reason=reason)


def resume(campaign: Campaign) -> None:
    """Go on with who is left; nobody gets it again. Raises NotSendable."""
    with transaction.atomic():
        held = locked(campaign, "resume", Status.PAUSED)
        check_sendable(held)
        held.status = Status.SENDING
        held.status_reason = ""
        held.save(update_fields=["status", "status_reason", "domain"])
    campaign.refresh_from_db()


def cancel(campaign: Campaign, *, reason: str = "Cancelled by a person.") -> None:
    """End it for good after the calls that are open; who is left does not get it. Raises NotSendable."""
    move(campaign, "cancel", Status.CANCELLED, Status.SCHEDULED, Status.SENDING, Status.PAUSED, reason=reason)


def delete(campaign: Campaign) -> None:
    """Forget a campaign that nobody was selected for. Raises NotSendable."""
    with transaction.atomic():
        held = locked(campaign, "delete", Status.DRAFT, Status.CANCELLED)
        if held.recipients.exists():
            raise NotSendable(
                f"{held.name} was sent to people: it stays on record. One that is sending can be cancelled instead."
            )
        held.delete()


def move(campaign: Campaign, verb: str, to: str, *sources: str, reason: str = "") -> None:
    """Change the status if it is one of `sources`. Raises NotSendable."""
    with transaction.atomic():
        held = locked(campaign, verb, *sources)
        held.status = to
        held.status_reason = reason
        if to == Status.CANCELLED:
            held.finished_at = Now()
        held.save(update_fields=["status", "status_reason", "finished_at"])
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


def pause_domain(domain: SenderDomain, *, reason: str) -> bool:
    """Stop everything from a domain until a person resumes it; False when it was paused already."""
    active = SenderDomain.objects.filter(pk=domain.pk, status=SenderDomain.Status.ACTIVE)
    return bool(active.update(status=SenderDomain.Status.PAUSED, paused_reason=reason))


def resume_domain(domain: SenderDomain) -> bool:
    """Let mail leave from a domain again, at once, whatever it waited for; False when nothing held it."""
    held = SenderDomain.objects.filter(pk=domain.pk).exclude(
        status=SenderDomain.Status.ACTIVE, held_until=None, probe_until=None
    )
    return bool(
        held.update(
            status=SenderDomain.Status.ACTIVE,
            paused_reason="",
            held_until=None,
            held_reason="",
            probe_until=None,
            throttles=0,
        )
    )


def pause_stream(stream: Stream, *, reason: str, by: str) -> bool:
    """Stop a flow of mail after the calls that are open; False when it was paused already."""
    running = Stream.objects.filter(pk=stream.pk, paused=False)
    return bool(running.update(paused=True, paused_reason=reason, paused_by=by))


def resume_stream(stream: Stream) -> bool:
    """Let a flow of mail go on; False when it was not paused."""
    return bool(
        Stream.objects.filter(pk=stream.pk, paused=True).update(paused=False, paused_reason="", paused_by="")
    )


MOMENTS = {
    (EventType.OPENED, False): "opened",
    (EventType.CLICKED, False): "clicked",
    (EventType.OPENED, True): "machine_opened",
    (EventType.CLICKED, True): "machine_clicked",
}


def record_event(event: ProviderEvent) -> int | None:
    """Move the recipient that an event is about, and settle its batch if it was unclear; return the recipient's id.

    Events come in any order, twice, and before the worker's own commit; the state only rises.
    """
    reached = states.REACHED.get(event.type)
    recorded = feedback.record(
        recipient=event.recipient,
        batch=event.batch,
        message_id=event.message_id,
        address=event.address,
        reached=reached.value if reached else None,
        ladder=[status.value for status in states.LADDER],
        reason=failure_reason(event) if reached and states.rank(reached) > states.rank("delivered") else "",
        occurred_at=event.occurred_at,
        moment=MOMENTS.get((event.type, event.is_machine), ""),
    )
    if recorded.proven == SendBatch.State.UNKNOWN and event.batch:
        settle_as_accepted(event.batch, answer="An event of the provider proves that it was accepted.")
    if recorded.recipient is None and reached and event.campaign and event.batch:
        feedback.remember(
            campaign=event.campaign,
            batch=event.batch,
            address=event.address,
            occurred_at=event.occurred_at,
        )
    return recorded.recipient


def accepted_already(events: Sequence[ProviderEvent]) -> list[ProviderEvent]:
    """Return those of many acceptances from which nothing follows: we know that batch and person as accepted."""
    places = feedback.accepted_already(
        recipients=[event.recipient for event in events],
        addresses=[event.address for event in events],
        batches=[event.batch for event in events],
        moments=[event.occurred_at for event in events],
        ladder=[status.value for status in states.LADDER],
    )
    return [event for place, event in enumerate(events, start=1) if place in places]


def failure_reason(event: ProviderEvent) -> str:
    """Say why a mail that was accepted did not arrive, in the provider's words where it has any."""
    if event.type == EventType.SUPPRESSED:
        return f"The provider did not try: {event.reason or event.suppression or 'the address is on its own list'}"
    return event.reason or f"The provider reports: {event.type.value}."


def settle_as_accepted(batch: UUID, *, answer: str) -> int:
    """Settle an unclear batch: the provider took all of it. Return how many people that is about."""
    with transaction.atomic():
        held = (
            SendBatch.objects.select_for_update(no_key=True)
            .filter(pk=batch, state=SendBatch.State.UNKNOWN)
            .first()
        )
        if held is None or held.campaign_id is None:
            return 0
        people = feedback.unknown_people(campaign=held.campaign_id, batch=held.pk)
        accepted = queue.accept(batch=held.pk, ids=people)
        queue.close(
            batch=held.pk,
            state=SendBatch.State.ACCEPTED,
            answer=answer,
            provider_id=f"{held.pk}@{held.domain.name}",
            accepted=held.size,
        )
    return accepted
