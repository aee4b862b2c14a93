"""What the simulated provider remembers of a message, and what one reader sees of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from mailkoenig.simulator.forms import Attachment
from mailkoenig.simulator.substitution import substituted


@dataclass(slots=True)
class Message:
    """One accepted call: small, because the content lies in the spool."""

    number: int
    """1 for the first accepted call."""
    domain: str
    accepted_at: float
    message_id: str
    """Without angle brackets."""
    recipients: int
    offset: int
    """Where the content lies in the spool."""
    length: int
    suppressed: Mapping[str, str] | None = None
    """Address on the provider's own list to the list's name."""


@dataclass(slots=True)
class Call:
    """One request to the messages endpoint and what became of it."""

    number: int
    at: float
    domain: str
    recipients: int = 0
    status: int | None = None
    """None where no answer was given."""
    accepted: bool = False
    message: int | None = None
    """The accepted message's number."""
    fault: str = ""
    note: str = ""
    """What the answer said."""
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Copy:
    """A message as one reader sees it."""

    message: int
    message_id: str
    domain: str
    address: str
    to: str
    """The visible To header: more than one address here is everybody seeing everybody."""
    sender: str
    subject: str
    html: str
    text: str
    headers: Sequence[tuple[str, str]]
    variables: Mapping[str, str]
    tags: Sequence[str]
    accepted_at: float
    attachments: Sequence[str] = ()


@dataclass
class Content:
    """Everything of a message that is not counted but shown: read back from the spool when somebody asks."""

    fields: Mapping[str, Sequence[str]]
    addresses: Sequence[str]
    """Bare, in order, each once: to, then cc, then bcc."""
    attachments: Sequence[Attachment] = field(default_factory=list)
    raw_variables: Mapping[str, Mapping[str, object]] | None = None
    """None where the call had no recipient-variables: no batch mode, and everybody sees everybody."""
    largest_variables: int | None = None

    def last(self, name: str) -> str:
        """Return the last value of a field, or nothing."""
        values = self.fields.get(name)
        return values[-1] if values else ""

    @cached_property
    def variable_fields(self) -> Sequence[tuple[str, str]]:
        """The `v:` fields, without the prefix."""
        return [(name[2:], values[-1]) for name, values in self.fields.items() if name.startswith("v:")]

    @cached_property
    def tags(self) -> Sequence[str]:
        """The `o:tag` fields."""
        return list(self.fields.get("o:tag", ()))

    @cached_property
    def size(self) -> int:
        """The bytes of a copy, about."""
        bodies = sum(len(self.last(name)) for name in ("subject", "text", "html"))
        return 600 + bodies + sum(file.size for file in self.attachments)

    def values(self, address: str) -> Mapping[str, object]:
        """Return what the call said of one recipient; a set over the provider's limit is lost without a word."""
        values = (self.raw_variables or {}).get(address)
        if not isinstance(values, Mapping):
            return {}
        if (
            self.largest_variables is not None
            and sum(len(str(v)) for v in values.values()) > self.largest_variables
        ):
            return {}
        return values

    def personal(self, template: str, address: str) -> str:
        """Return a field's text for one recipient."""
        if self.raw_variables is None or "%" not in template:
            return template
        return substituted(template, address=address, values=self.values(address))

    def variables(self, address: str) -> dict[str, str]:
        """Return the user variables that come back in this recipient's events."""
        return {name: self.personal(value, address) for name, value in self.variable_fields}

    def visible_to(self, address: str) -> str:
        """Return the To header of one recipient's copy."""
        return address if self.raw_variables is not None else ", ".join(self.fields.get("to", ()))

    def copy(self, message: Message, address: str) -> Copy:
        """Render one recipient's copy."""
        headers = [
            (name[2:], self.personal(value, address))
            for name, values in self.fields.items()
            if name.startswith("h:")
            for value in values
        ]
        headers += [("Cc", ", ".join(self.fields["cc"]))] if self.fields.get("cc") else []
        return Copy(
            message=message.number,
            message_id=self.personal(message.message_id, address),
            domain=message.domain,
            address=address,
            to=self.visible_to(address),
            sender=self.personal(self.last("from"), address),
            subject=self.personal(self.last("subject"), address),
            html=self.personal(self.last("html"), address),
            text=self.personal(self.last("text"), address),
            headers=headers,
            variables=self.variables(address),
            tags=self.tags,
            accepted_at=message.accepted_at,
            attachments=[file.filename for file in self.attachments],
        )
