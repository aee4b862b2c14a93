"""A provider in memory: what it took, its log, and the stops of whoever sends through it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from campaigns.mail import CampaignMail, CampaignTurn
from mailkoenig.providers.mailgun import DIALECT
from mailkoenig.providers.types import Call, Dialect, Finding, Kind, Outcome, Verdict
from tests.chaos.lanes import Lane

CLAIMED, CALLING, ANSWERED = "claimed", "calling", "answered"


@dataclass(frozen=True)
class Taken:
    """One mail that the provider took."""

    batch: UUID
    campaign: int
    recipient: int
    address: str


@dataclass
class Post:
    """What the provider knows."""

    taken: list[Taken] = field(default_factory=list)
    begun: set[UUID] = field(default_factory=set)
    """Batches that a call was made for, taken or not."""
    log: str = "open"
    """open: answers truly; blind: shows nothing at all; down: can't be reached."""
    failed_asks: int = 0

    def take(self, call: Call) -> None:
        """Take a call's mail."""
        campaign = int(call.variables["campaign"])
        for envelope in call.recipients:
            rid = envelope.values.get("rid") or call.variables["rid"]
            self.taken.append(Taken(call.batch, campaign, int(rid), envelope.address))

    def has(self, batch: UUID) -> bool:
        """Say whether the call of a batch was taken."""
        return any(mail.batch == batch for mail in self.taken)

    def copies(self) -> Counter[int]:
        """Return how often each recipient was taken."""
        return Counter(mail.recipient for mail in self.taken)

    def ask(self, *, domain: str, batch: UUID, since: datetime, sample: Sequence[str]) -> Finding:
        """Answer from the log, in the state that it is in."""
        if self.log != "open":
            self.failed_asks += 1
            return Finding(Verdict.NO_ANSWER, f"The log is {self.log}.")
        return Finding(Verdict.ACCEPTED if self.has(batch) else Verdict.ABSENT, "The log was asked.")


@dataclass(frozen=True)
class StoppingTurn(CampaignTurn):
    """A turn whose worker may die, or be overtaken, between claim and call."""

    lane: Lane = field(kw_only=True)

    def mail(self, batch: UUID, people: Sequence[Any], *, dialect: Dialect) -> CampaignMail:
        mail = super().mail(batch, people, dialect=dialect)
        return StoppingMail(mail.campaign, mail.domain, dialect, lane=self.lane)


@dataclass
class StoppingMail(CampaignMail):
    """The mail of a StoppingTurn; the code looks at its groups before it begins a call."""

    lane: Lane = field(kw_only=True)

    def groups(self, people: Sequence[Any]) -> list[list[Any]]:
        self.lane.pause(CLAIMED)
        return super().groups(people)


@dataclass
class Client:
    """Sends for one lane, and stops it where a worker may die."""

    lane: Lane
    post: Post
    look: Callable[[Call], None]
    """Called with each call before the provider has it."""
    name: str = "post"
    messages_per_call: int = 1
    dialect: Dialect = DIALECT

    def send(self, call: Call) -> Outcome:
        """Stop while the call is on its way; the order says whether it is taken and what is answered."""
        self.post.begun.add(call.batch)
        self.look(call)
        outcome: Outcome = self.lane.pause(CALLING, call)
        return outcome

    def close(self) -> None:
        """Nothing is open."""


def answer(kind: Kind, call: Call) -> Outcome:
    """Return an answer of this kind in the provider's words."""
    if kind is Kind.SENT:
        return Outcome(kind, "Queued. Thank you.", provider_id=f"{call.batch}@{call.domain}")
    return Outcome(kind, f"The provider said {kind.value}.")
