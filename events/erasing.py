"""Erasing a person everywhere: contact, mail, events and trail. What stood against mailing them stays, unreadable."""

from typing import NamedTuple

from django.db import transaction

from campaigns import services as campaigns
from contacts import erasing as contacts
from events import sql
from mailkoenig.lib import audit
from mailkoenig.lib.addresses import normalise


class Erased(NamedTuple):
    """How many rows named the person."""

    contacts: int
    recipients: int
    messages: int
    events: int


@transaction.atomic
def erase(address: str, *, by: str) -> Erased:
    """Forget an address: everything that names it is deleted or loses the name; numbers of campaigns stay.

    What the provider reports later about mail that had left comes in as any event does, and goes with `prune`.
    Raises InvalidAddress; NotErasable while a mail to it is on its way.
    """
    address = normalise(address)
    mail = campaigns.erase(address, recipients=sql.recipients_named(address))
    events = sql.erase(address)
    contacts_gone = contacts.erase(address)
    trail = audit.forget(address)
    erased = Erased(contacts_gone, mail.recipients, mail.messages, events)
    if any(erased) or trail:
        audit.note(on="a person", what="Erased.", by=by)
    return erased
