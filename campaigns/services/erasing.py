"""Taking a person's name out of what was sent to them."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db import transaction

from campaigns.sql import erasing
from mailkoenig.lib.command import UserError


class NotErasable(UserError):
    """A mail to this person is on its way: who it went to is needed until its outcome is known."""


class Named(NamedTuple):
    """How many rows named somebody."""

    recipients: int
    messages: int


@transaction.atomic
def erase(address: str, *, recipients: Sequence[int] = ()) -> Named:
    """Take an address out of campaigns and delete its messages; who still waits is not sent to.

    `recipients` are rows of campaigns that may name it, though its contact is another or gone. Raises NotErasable.
    """
    if erasing.is_open(address, recipients=recipients):
        raise NotErasable(
            "A mail to this person is on its way, or nobody knows yet whether it was sent: try again when that is settled "
            "(Unknown outcomes)."
        )
    return Named(erasing.recipients(address, recipients=recipients), erasing.messages(address))
