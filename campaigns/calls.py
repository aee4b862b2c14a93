"""From a leased batch to a provider's call: values for each person, and who has to go alone. Pure over its arguments."""

from collections.abc import Sequence
from email.utils import quote
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID

import orjson
from django.conf import settings

from campaigns.content import Compiled, Person, Rendered, Source, compile, is_mistaken
from campaigns.models import Campaign, SenderDomain
from campaigns.sql.queue import Claim
from contacts.services import unsubscribe_url
from mailkoenig.providers.types import Call, Dialect, Envelope


class HasAddress(Protocol):
    @property
    def email(self) -> str: ...


Addressed = TypeVar("Addressed", bound=HasAddress)

# Mailgun loses the values of a recipient that has more than this many bytes of them.
LARGEST_VALUES = 16_000


@lru_cache(maxsize=32)
def compiled(source: Source, dialect: Dialect) -> Compiled:
    """Return the compiled mail; the same source is compiled once."""
    return compile(source, dialect=dialect)


class Letter(NamedTuple):
    """A campaign as it goes out: who sends it, and what it says."""

    campaign: Campaign
    domain: SenderDomain
    content: Compiled


def as_person(claim: Claim, content: Compiled) -> Person:
    """Return what the merge language may see of a recipient."""
    attributes = orjson.loads(claim.attributes) if content.attributes and claim.attributes else {}
    return Person(claim.email, claim.name, attributes, unsubscribe_url(claim.unsubscribe_token))


def envelope(claim: Claim, content: Compiled) -> Envelope:
    """Return one recipient's address and values, with what our own headers and variables need."""
    person = as_person(claim, content)
    values = content.values(person)
    values["rid"] = str(claim.id)
    values["unsubscribe"] = person.unsubscribe_url
    return Envelope(claim.email, values)


def groups(
    people: Sequence[Claim], envelopes: dict[int, Envelope], content: Compiled, dialect: Dialect
) -> list[list[Claim]]:
    """Cut a batch by what one call can hold; who has values that the provider would lose or replace goes alone."""
    together: list[list[Claim]] = [[]]
    alone: list[list[Claim]] = []
    room = settings.SENDER_MAX_CALL_BYTES - content.size
    used = 0
    for person in people:
        values = envelopes[person.id].values
        size = sum(map(len, values.values()))
        if size * 4 > LARGEST_VALUES:
            size = len(orjson.dumps(values))
        if size > LARGEST_VALUES or is_mistaken(values, dialect=dialect):
            alone.append([person])
            continue
        used += size + 64
        if used > room and together[-1]:
            together.append([])
            used = size + 64
        together[-1].append(person)
    return [group for group in together if group] + alone


def halves(people: Sequence[Addressed], words: str) -> list[list[Addressed]]:
    """Cut a batch in two: the address that the provider names by itself, else in the middle."""
    named = [person for person in people if person.email in words.lower()]
    if named and len(named) < len(people):
        return [[person for person in people if person not in named], *([person] for person in named)]
    middle = len(people) // 2
    return [list(people[:middle]), list(people[middle:])]


def build(
    batch: UUID,
    letter: Letter,
    people: Sequence[Claim],
    envelopes: dict[int, Envelope],
    dialect: Dialect,
) -> Call:
    """Return the request for a batch; one person alone gets a finished mail without variables."""
    campaign, domain, content = letter
    mail: Compiled | Rendered = content
    if len(people) == 1:
        mail = content.render(as_person(people[0], content))
        values = envelopes[people[0].id].values
        recipients = [Envelope(people[0].email, {})]
        rid, unsubscribe = values["rid"], values["unsubscribe"]
    else:
        recipients = [envelopes[person.id] for person in people]
        rid, unsubscribe = dialect.placeholder("rid"), dialect.placeholder("unsubscribe")
    return Call(
        batch=batch,
        domain=domain.name,
        sender=sender(campaign, domain),
        subject=mail.subject,
        html=mail.html,
        text=mail.text,
        recipients=recipients,
        headers=headers(batch, campaign, domain, unsubscribe),
        variables={"batch": str(batch), "rid": rid, "campaign": str(campaign.pk)},
        tags=(f"campaign-{campaign.pk}",),
        track_opens=campaign.track_opens,
        track_clicks=campaign.track_clicks,
    )


def headers(batch: UUID, campaign: Campaign, domain: SenderDomain, unsubscribe: str) -> dict[str, str]:
    """Return the headers of campaign mail: how to leave with one click, and the marker that we can ask for later."""
    found = {
        "Message-Id": f"<{batch}@{domain.name}>",
        "List-Unsubscribe": f"<{unsubscribe}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
    answers = campaign.reply_to or (
        campaign.from_email if from_email(campaign, domain) != campaign.from_email else ""
    )
    return {**found, "Reply-To": answers} if answers else found


def from_email(campaign: Campaign, domain: SenderDomain) -> str:
    """Return the address it comes from: on the shared domain always one of its own, or it would not be aligned."""
    if campaign.from_email and not domain.is_shared:
        return campaign.from_email
    return campaign.from_email if campaign.from_email.endswith(f"@{domain.name}") else f"news@{domain.name}"


def sender(campaign: Campaign, domain: SenderDomain) -> str:
    """Return the From header."""
    name = " ".join(campaign.from_name.split())
    return f'"{quote(name)}" <{from_email(campaign, domain)}>' if name else from_email(campaign, domain)
