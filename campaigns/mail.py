"""What a batch says and how it becomes a call: a campaign to many people, or messages that each say something of their own."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol
from uuid import UUID

from campaigns import calls, services, versions
from campaigns.models import Campaign, Message, SenderDomain
from campaigns.sql import jobs, messages, queue
from campaigns.sql.jobs import Jobs
from mailkoenig.providers.types import Call, Dialect, Envelope, File


class Job(Protocol):
    """One leased row."""

    @property
    def id(self) -> int: ...
    @property
    def email(self) -> str: ...


class Mail(Protocol):
    """What the jobs of one batch say."""

    jobs: Jobs
    domain: SenderDomain

    @property
    def about(self) -> str:
        """Whose it is, for the log."""
        ...

    @property
    def version(self) -> int | None:
        """The kept version of it, where one is kept. Raises ContentError where it can't be made."""
        ...

    def groups(self, people: Sequence[Any]) -> Sequence[Sequence[Job]]:
        """Cut jobs by what one call can hold."""
        ...

    def skip(self, *, batch: UUID, ids: Sequence[int]) -> set[int]:
        """Take out of a batch what may no longer be sent; return their ids."""
        ...

    def call(self, batch: UUID, people: Sequence[Any]) -> Call:
        """Return the request for a batch."""
        ...


class Turn(Protocol):
    """Whose mail goes next, and from which domain."""

    @property
    def domain(self) -> int: ...
    @property
    def jobs(self) -> Jobs: ...
    def claim(self, *, batch: UUID, worker: str, probing: bool, most: int) -> Sequence[Job]:
        """Lease what is due, at most `most` different mails."""
        ...

    def mail(self, batch: UUID, people: Sequence[Any], *, dialect: Dialect) -> Mail:
        """Return what a claimed batch says. Raises ContentError."""
        ...


@dataclass(frozen=True)
class CampaignTurn:
    """A campaign that has people to send to."""

    campaign: int
    domain: int
    jobs: Jobs = jobs.RECIPIENTS

    def claim(self, *, batch: UUID, worker: str, probing: bool, most: int) -> Sequence[queue.Claim]:
        return queue.claim(campaign=self.campaign, batch=batch, worker=worker, probing=probing)

    def mail(self, batch: UUID, people: Sequence[Job], *, dialect: Dialect) -> "CampaignMail":
        # The domain is the batch's, not the campaign's: somebody may have just chosen another.
        domain = SenderDomain.objects.get(batches=batch)
        return CampaignMail(Campaign.objects.get(pk=self.campaign), domain, dialect)


@dataclass
class CampaignMail:
    """A campaign as it goes out now."""

    campaign: Campaign
    domain: SenderDomain
    dialect: Dialect
    jobs: Jobs = jobs.RECIPIENTS
    envelopes: dict[int, Envelope] = field(default_factory=dict)

    @property
    def about(self) -> str:
        return f"campaign {self.campaign.pk}"

    @cached_property
    def letter(self) -> calls.Letter:
        content = calls.compiled(services.source(self.campaign), self.dialect)
        return calls.Letter(self.campaign, self.domain, content)

    @cached_property
    def version(self) -> int | None:
        return versions.of(self.letter)

    def groups(self, people: Sequence[queue.Claim]) -> list[list[queue.Claim]]:
        content = self.letter.content
        self.envelopes = {person.id: calls.envelope(person, content) for person in people}
        return calls.groups(people, self.envelopes, content, self.dialect)

    def skip(self, *, batch: UUID, ids: Sequence[int]) -> set[int]:
        return queue.skip_ineligible(batch=batch, ids=ids)

    def call(self, batch: UUID, people: Sequence[queue.Claim]) -> Call:
        return calls.build(batch, self.letter, people, self.envelopes, self.dialect)


@dataclass(frozen=True)
class MessageTurn:
    """A stream that has messages to send from a domain."""

    stream: int
    domain: int
    jobs: Jobs = jobs.MESSAGES

    def claim(self, *, batch: UUID, worker: str, probing: bool, most: int) -> Sequence[messages.Claim]:
        return messages.claim(
            stream=self.stream, domain=self.domain, batch=batch, worker=worker, probing=probing, most=most
        )

    def mail(self, batch: UUID, people: Sequence[Job], *, dialect: Dialect) -> "MessageMail":
        found = Message.objects.select_related("stream").prefetch_related("attachments")
        domain = SenderDomain.objects.get(batches=batch)
        return MessageMail(found.in_bulk([person.id for person in people]), domain)


@dataclass
class MessageMail:
    """Messages as they go out. No provider that we send with takes several different mails in one call."""

    found: dict[int, Message]
    domain: SenderDomain
    jobs: Jobs = jobs.MESSAGES

    @property
    def version(self) -> None:
        return None

    @property
    def about(self) -> str:
        return f"stream {next(iter(self.found.values())).stream.name}"

    def groups(self, people: Sequence[messages.Claim]) -> list[list[messages.Claim]]:
        return [[person] for person in people]

    def skip(self, *, batch: UUID, ids: Sequence[int]) -> set[int]:
        return messages.skip_unsendable(batch=batch, ids=ids)

    def call(self, batch: UUID, people: Sequence[messages.Claim]) -> Call:
        (person,) = people
        message = self.found[person.id]
        headers = {"Message-Id": f"<{batch}@{self.domain.name}>", **message.headers}
        if message.reply_to:
            headers["Reply-To"] = message.reply_to
        return Call(
            batch=batch,
            domain=self.domain.name,
            sender=message.sender,
            subject=message.subject,
            html=message.html,
            text=message.text,
            recipients=[Envelope(message.email, {})],
            headers=headers,
            variables={"batch": str(batch), "message": str(message.pk)},
            tags=(message.stream.name, *message.tags),
            files=[
                File(found.name, found.content_type, bytes(found.content))
                for found in message.attachments.all()
            ],
        )
