"""Settles what nobody knows by evidence: an event of the provider at once, else its log, asked again and again.

Only what the log proves is acted on. Where it can't be asked, the stream's policy decides, and the people are listed.
"""

import logging
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

from django.conf import settings
from django.db import transaction

from campaigns.models import SendBatch, Stream
from campaigns.services import settle_as_accepted
from campaigns.sql import jobs, queue, unclear
from campaigns.sql.jobs import Jobs
from mailkoenig.lib import audit
from mailkoenig.lib.command import UserError
from mailkoenig.lib.counting import people
from mailkoenig.providers.types import Finding, ProviderLog, Verdict

logger = logging.getLogger(__name__)

State = SendBatch.State


class Decision(StrEnum):
    """What is done with an unclear batch."""

    ACCEPTED = "accepted"  # settled: the provider took it
    RETURN = "return"  # proven not taken: its people are ready again
    RESEND = "resend"  # nobody knows; the stream rather repeats than loses
    HOLD = "hold"  # nobody knows; a person decides
    WAIT = "wait"  # ask again later


def decide(verdict: Verdict, *, is_last: bool, on_unknown: str) -> Decision:
    """Say what a finding means: presence counts at once, absence only when there was time enough to show up."""
    if verdict == Verdict.ACCEPTED:
        return Decision.ACCEPTED
    if not is_last:
        return Decision.WAIT
    if verdict == Verdict.ABSENT:
        return Decision.RETURN
    return Decision.RESEND if on_unknown == Stream.OnUnknown.RESEND else Decision.HOLD


def waits() -> list[timedelta]:
    """Return when the log is asked, counted from the moment that the outcome became unclear."""
    return [timedelta(seconds=seconds) for seconds in settings.RESOLVER_WAITS]


def note_unknown(batch: UUID, held: Jobs, *, reason: str, lost_worker: bool = False) -> None:
    """Set a locked batch aside as unclear; if an event has proven it already, it is settled at once."""
    held.mark_unknown(batch=batch, reason=reason, first_ask=waits()[0], lost_worker=lost_worker)
    if SendBatch.objects.filter(pk=batch, evidence_at__isnull=False).exists():
        settle_as_accepted(
            batch, answer=f"{reason} An event of the provider had proven already that it was accepted."
        )


def turn(log: ProviderLog) -> bool:
    """Ask about one unclear batch that is due, and act on it; False when none is due."""
    guard = timedelta(seconds=10 * settings.MAILGUN_CALL_TIMEOUT)
    question = unclear.next_question(guard=guard)
    if question is None:
        return False
    some = jobs.of(question.campaign).sample(question.batch, limit=3)
    finding = log.ask(domain=question.domain, batch=question.batch, since=question.started_at, sample=some)
    is_last = question.asks + 1 >= len(waits()) and not may_be_open(question)
    decision = decide(finding.verdict, is_last=is_last, on_unknown=question.on_unknown)
    act(question, finding, decision)
    logger.info(
        "asked about unclear batch",
        extra={"batch": question.batch, "verdict": finding.verdict.value, "decision": decision.value},
    )
    return True


def may_be_open(question: unclear.Question) -> bool:
    """Say whether a worker that was given up may be alive still, and its call on the way."""
    return question.lost_worker and question.age <= timedelta(seconds=settings.MAILGUN_CALL_TIMEOUT)


def next_wait(asks: int) -> timedelta:
    """Return when the log is asked again after `asks` times and one, counted from when the outcome became unclear."""
    following = waits()[asks + 1 :]
    return following[0] if following else timedelta(seconds=settings.MAILGUN_CALL_TIMEOUT)


def act(question: unclear.Question, finding: Finding, decision: Decision) -> None:
    """Do what was decided, if the batch is still unclear."""
    batch, held = question.batch, jobs.of(question.campaign)
    with transaction.atomic():
        if queue.lock(batch) != State.UNKNOWN:
            return
        match decision:
            case Decision.ACCEPTED:
                settle_as_accepted(batch, answer=finding.words)
            case Decision.RETURN:
                # A provider's fault costs nobody an attempt. Mail whose workers die of it has to come to an end.
                refund = 0 if question.lost_worker else 1
                send_again(
                    batch, held, finding=story(question, finding), refund=refund, unclear_for_good=False
                )
            case Decision.RESEND:
                words = f"{story(question, finding)} Its stream sends such mail again, though some may have got it."
                send_again(batch, held, finding=words, refund=0, unclear_for_good=True)
            case Decision.HOLD:
                unclear.hold(batch=batch, finding=finding.words)
            case Decision.WAIT:
                unclear.wait(batch=batch, finding=finding.words, after=next_wait(question.asks))


def story(question: unclear.Question, finding: Finding) -> str:
    """Return what was found, behind the death of the worker where there was one."""
    return f"{question.answer} {finding.words}" if question.lost_worker else finding.words


def send_again(
    batch: UUID, held: Jobs, *, finding: str, refund: int, unclear_for_good: bool, by: str = ""
) -> None:
    """Make a locked unclear batch's people ready again."""
    held.give_back(batch=batch, reason=finding, after=timedelta(0), refund=refund, unclear=unclear_for_good)
    queue.close(batch=batch, state=State.RETURNED, answer=finding)
    unclear.settled(batch=batch, finding=finding, by=by)


def settle_held(batch: UUID, *, as_sent: bool, by: str) -> None:
    """Do what a person decided about a held batch. Raises UserError where it is not held any more."""
    with transaction.atomic():
        held = SendBatch.objects.select_for_update(no_key=True).filter(pk=batch).first()
        if held is None or held.state != State.UNKNOWN or held.held_at is None:
            raise UserError("This outcome does not wait for a decision (any more): look at the batch again.")
        if as_sent:
            settle_as_accepted(batch, answer=f"Counted as sent by {by}.")
            unclear.settled(batch=batch, finding=held.finding, by=by)
        else:
            words = f"Sent again by {by}."
            send_again(
                batch, jobs.of(held.campaign_id), finding=words, refund=1, unclear_for_good=True, by=by
            )
        decision = "Counted as sent" if as_sent else "Sent again"
        what = f"{decision}, as the outcome for {people(held.size)} was unclear."
        audit.note(on=held.campaign or held.message or held, what=what, by=by)
    logger.info("unclear batch settled by a person", extra={"batch": batch, "as_sent": as_sent})
