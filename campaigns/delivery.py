"""One batch from claim to settle: the only place that calls a provider and acts on what its answer means."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from random import random
from typing import NamedTuple, assert_never
from uuid import UUID, uuid4

from django.conf import settings
from django.db import DatabaseError, InterfaceError, transaction

from campaigns import policy, resolver, services
from campaigns.calls import halves
from campaigns.content import ContentError
from campaigns.mail import Job, Mail, Turn
from campaigns.models import SendBatch
from campaigns.sql import jobs, queue, recovery, tallies
from campaigns.sql.jobs import Jobs
from mailkoenig.providers.types import Kind, Outcome, Provider

logger = logging.getLogger(__name__)

State = SendBatch.State
NOT_COUNTED = 1
COUNTED = 0


class Part(NamedTuple):
    """A batch that is leased to us and not yet sent."""

    batch: UUID
    people: Sequence[Job]


@dataclass
class Delivery:
    """Sends batches with one provider client.

    `persist` runs a transaction until the database takes it; what is much work for the database is done within `in_line`.
    """

    provider: Provider
    worker: str
    persist: Callable[[Callable[[], object]], object]
    random: Callable[[], float] = random
    is_stopping: Callable[[], bool] = lambda: False
    in_line: Callable[[], AbstractContextManager[object]] = nullcontext

    def send_one(self, turn: Turn) -> bool:
        """Claim one batch, send it and settle it; False when there was nothing to claim."""
        probing = queue.probe(domain=turn.domain, wait=timedelta(seconds=settings.MAILGUN_CALL_TIMEOUT))
        batch = uuid4()
        most = self.provider.messages_per_call
        with self.in_line():
            people = turn.claim(batch=batch, worker=self.worker, probing=probing, most=most)
        if not people:
            return False
        parts = [Part(batch, people)]
        try:
            self.send_parts(parts, turn.mail(batch, people, dialect=self.provider.dialect), probing=probing)
        except Exception as error:
            # Whatever it was, it must not keep people from everybody else until the lease ends.
            self.abandon(parts, turn.jobs, error)
            raise
        return True

    def send_parts(self, parts: list[Part], mail: Mail, *, probing: bool) -> None:
        """Send leased batches and what they have to be split into; `parts` holds those that are not settled."""
        try:
            # Kept before the call: what goes out can be looked up, whatever becomes of it.
            assert_makeable(mail)
        except ContentError as error:
            self.refuse(parts.pop(), mail, str(error))
        held_at = time.monotonic()
        while parts and not self.is_stopping():
            smaller = self.send_part(parts[-1], mail, probing=probing)
            parts[-1:] = smaller
            if parts and time.monotonic() - held_at > settings.MAILGUN_CALL_TIMEOUT / 2:
                # What waits for its turn must not be taken for left behind.
                queue.renew([part.batch for part in parts])
                held_at = time.monotonic()
        self.release(parts, mail)

    def send_part(self, part: Part, mail: Mail, *, probing: bool) -> list[Part]:
        """Send one leased batch and settle it; return what it had to be split into."""
        smaller = mail.groups(part.people)
        if len(smaller) > 1:
            return self.split(
                part, mail, smaller, answer="Cut before the call: too large for one, or some must go alone."
            )
        leased_at = time.monotonic()
        left = self.begin(part, mail, probing=probing)
        if left is None:
            return []
        try:
            call = mail.call(part.batch, left)
        except Exception as error:
            # It has been begun in the books, and we know that no byte has left.
            logger.exception("mail can't be made", extra={"batch": part.batch, "of": mail.about})
            outcome = Outcome(Kind.PAUSE_CAMPAIGN, f"The mail can't be made ({type(error).__name__}).")
        else:
            if time.monotonic() - leased_at > settings.MAILGUN_CALL_TIMEOUT:
                outcome = Outcome(Kind.NOT_MADE, "The worker was held up before the call; it was not made.")
            else:
                outcome = self.provider.send(call)
        return self.settle(Part(part.batch, left), mail, outcome)

    def begin(self, part: Part, mail: Mail, *, probing: bool) -> list[Job] | None:
        """Commit that the call begins, without those who left meanwhile; None when there is nothing to call for."""
        with self.in_line(), transaction.atomic():
            if queue.lock(part.batch) != State.LEASED:
                return None
            gone = mail.skip(batch=part.batch, ids=[person.id for person in part.people])
            left = [person for person in part.people if person.id not in gone]
            if not left:
                queue.close(
                    batch=part.batch, state=State.RETURNED, answer="Nobody in it may be mailed any more."
                )
                return None
            if not queue.start(batch=part.batch, people=len(left), version=mail.version, probing=probing):
                words = "Put off before the call, by a pause or a limit of its stream."
                self.back(part, mail, words, after=timedelta(0), refund=NOT_COUNTED)
                return None
        return left

    def settle(self, part: Part, mail: Mail, outcome: Outcome) -> list[Part]:
        """Write what the answer means, for as long as the lease is ours; return what is left to send in smaller parts."""
        parts: list[Part] = []

        def write() -> None:
            parts.clear()
            with self.in_line(), transaction.atomic():
                state = queue.lock(part.batch)
                if state == State.IN_FLIGHT:
                    parts.extend(self.act(part, mail, outcome))
                    tallies.answer(batch=part.batch, answer_class=outcome.answer_class)
                    return
            if state == State.UNKNOWN and outcome.kind == Kind.SENT:
                # Our lease had run out, but nobody has touched these people since, and this answer settles it.
                services.settle_as_accepted(part.batch, answer=f"Answered late: {outcome.reason}")

        self.persist(write)
        logger.info(
            "batch settled",
            extra={
                "batch": part.batch,
                "of": mail.about,
                "people": len(part.people),
                "outcome": outcome.kind.value,
            },
        )
        return parts

    def act(self, part: Part, mail: Mail, outcome: Outcome) -> list[Part]:
        """Do what one outcome asks for, in the caller's transaction, with the batch locked."""
        ids = [person.id for person in part.people]
        if outcome.kind not in (Kind.NOT_MADE, Kind.RETRY, Kind.UNKNOWN):
            recovery.release_domain(part.batch)
        match outcome.kind:
            case Kind.SENT:
                accepted = mail.jobs.accept(batch=part.batch, ids=ids)
                queue.close(
                    batch=part.batch,
                    state=State.ACCEPTED,
                    answer=outcome.reason,
                    provider_id=outcome.provider_id,
                    accepted=accepted,
                )
            case Kind.UNKNOWN:
                wait = policy.backoff(mail.domain.throttles, dice=self.random())
                recovery.brake_domain(batch=part.batch, wait=wait, reason=outcome.reason)
                resolver.note_unknown(part.batch, mail.jobs, reason=outcome.reason)
            case Kind.NOT_MADE:
                self.back(part, mail, outcome.reason, after=timedelta(0), refund=NOT_COUNTED)
            case Kind.RETRY:
                self.hold(part, mail, outcome)
            case Kind.SPLIT:
                return self.shrink(part, mail, outcome)
            case Kind.RECIPIENT_FAILED:
                mail.jobs.fail(batch=part.batch, ids=ids, reason=outcome.reason)
                queue.close(batch=part.batch, state=State.RETURNED, answer=outcome.reason)
            case Kind.PAUSE_CAMPAIGN:
                self.give_up(part, mail, outcome.reason)
            case Kind.PAUSE_DOMAIN:
                recovery.pause_domain(batch=part.batch, reason=outcome.reason)
                self.back(part, mail, outcome.reason, after=timedelta(0), refund=NOT_COUNTED)
            case _:
                assert_never(outcome.kind)
        return []

    def hold(self, part: Part, mail: Mail, outcome: Outcome) -> None:
        """Make the whole domain wait as long as the provider said, else longer each time."""
        wait = outcome.after or policy.backoff(mail.domain.throttles + 1, dice=self.random())
        recovery.hold_domain(batch=part.batch, wait=wait, reason=outcome.reason)
        self.back(part, mail, outcome.reason, after=wait, refund=NOT_COUNTED)

    def shrink(self, part: Part, mail: Mail, outcome: Outcome) -> list[Part]:
        """Send less at once: smaller batches from this domain, or halves until the one bad address is alone."""
        if outcome.limit is not None:
            if len(part.people) > outcome.limit:
                recovery.limit_domain(batch=part.batch, limit=outcome.limit)
            else:
                recovery.pause_domain(batch=part.batch, reason=outcome.reason)
            self.back(part, mail, outcome.reason, after=timedelta(0), refund=NOT_COUNTED)
            return []
        if len(part.people) == 1 and outcome.is_too_large:
            reason = f"{outcome.reason} (the mail itself is too large: make it smaller, then resume)"
            self.give_up(part, mail, reason if mail.jobs is jobs.RECIPIENTS else outcome.reason)
            return []
        if len(part.people) == 1:
            mail.jobs.fail(batch=part.batch, ids=[part.people[0].id], reason=outcome.reason)
            queue.close(batch=part.batch, state=State.RETURNED, answer=outcome.reason)
            return []
        return self.parted(part, mail, halves(part.people, outcome.reason), answer=outcome.reason)

    def give_up(self, part: Part, mail: Mail, reason: str) -> None:
        """End what every further try would meet again: pause the campaign of a locked batch, or fail its messages."""
        if mail.jobs is jobs.MESSAGES:
            mail.jobs.fail(batch=part.batch, ids=[person.id for person in part.people], reason=reason)
            queue.close(batch=part.batch, state=State.RETURNED, answer=reason)
            return
        recovery.pause_campaign(batch=part.batch, reason=reason)
        self.back(part, mail, reason, after=timedelta(0), refund=NOT_COUNTED)

    def split(self, part: Part, mail: Mail, smaller: Sequence[Sequence[Job]], *, answer: str) -> list[Part]:
        """Cut a leased batch into smaller ones before any call."""
        with transaction.atomic():
            if queue.lock(part.batch) != State.LEASED:
                return []
            return self.parted(part, mail, smaller, answer=answer)

    def parted(self, part: Part, mail: Mail, smaller: Sequence[Sequence[Job]], *, answer: str) -> list[Part]:
        """Move a locked batch's people into new batches and close it."""
        parts = [Part(uuid4(), people) for people in smaller if people]
        for new in parts:
            mail.jobs.split_off(batch=part.batch, part=new.batch, ids=[person.id for person in new.people])
        queue.close(batch=part.batch, state=State.RETURNED, answer=answer)
        return parts

    def back(self, part: Part, mail: Mail, reason: str, *, after: timedelta, refund: int) -> None:
        """Make a locked batch's people ready again after a wait."""
        mail.jobs.give_back(batch=part.batch, reason=reason, after=after, refund=refund)
        queue.close(batch=part.batch, state=State.RETURNED, answer=reason)

    def release(self, parts: Sequence[Part], mail: Mail) -> None:
        """Give back what was not begun."""
        for part in parts:
            with transaction.atomic():
                if queue.lock(part.batch) == State.LEASED:
                    reason = "The worker stopped before the call."
                    self.back(part, mail, reason, after=timedelta(0), refund=NOT_COUNTED)

    def abandon(self, parts: Sequence[Part], held: Jobs, error: Exception) -> None:
        """Give back what an error of ours kept from being begun; it counts, so that it ends."""
        reason = f"The worker met an error before the call ({type(error).__name__})."
        with suppress(DatabaseError, InterfaceError):
            for part in parts:
                with transaction.atomic():
                    if queue.lock(part.batch) == State.LEASED:
                        wait = policy.backoff(1, dice=self.random())
                        held.give_back(batch=part.batch, reason=reason, after=wait, refund=COUNTED)
                        queue.close(batch=part.batch, state=State.RETURNED, answer=reason)

    def refuse(self, part: Part, mail: Mail, reason: str) -> None:
        """Give up mail that can't be made, before any call."""
        with transaction.atomic():
            if queue.lock(part.batch) == State.LEASED:
                self.give_up(part, mail, reason)


def assert_makeable(mail: Mail) -> None:
    """Raise ContentError where the mail can't be made."""
    _ = mail.version
