"""What must be true of a call at the moment it is made."""

from collections.abc import Collection, Mapping

from campaigns.models import Recipient, SendBatch, SentMessage
from mailkoenig.providers.types import Call


def check(call: Call, *, gone: Collection[str], most: int, owners: Mapping[int, int]) -> None:
    """Look at the books right behind the call's beginning: nothing else has happened since.

    `gone` had left before it began, `most` people were allowed when it was claimed.
    """
    batch = SendBatch.objects.select_related("campaign", "domain", "stream", "version").get(pk=call.batch)
    addresses = [envelope.address for envelope in call.recipients]
    assert batch.state == "in_flight"
    assert len(set(addresses)) == len(addresses) == batch.size <= most, "a call is too large"
    assert not set(gone) & set(addresses), "somebody who had left is in a call"
    assert batch.campaign is not None
    assert batch.campaign.status == "sending", "a call of a campaign that had been stopped"
    assert batch.domain.status == "active" and not batch.stream.paused
    assert batch.version is not None
    assert batch.version.body.partition(":")[0] in call.text, "the version kept is not what is sent"
    people = Recipient.objects.filter(campaign=batch.campaign, email__in=addresses)
    assert {(person.status, person.batch_id) for person in people} == {("sending", batch.pk)}
    known = [key for person in people for key in keys(person, owners)]
    assert not SentMessage.objects.filter(pk__in=known).exists(), "the ledger knew that it was sent"


def keys(person: Recipient, owners: Mapping[int, int]) -> list[str]:
    """Return the keys that the ledger may have a recipient under; `owners` has the contact that each was made for."""
    owner = owners.get(person.pk)
    return [
        f"campaign-{person.campaign_id}:contact-{owner}",
        f"campaign-{person.campaign_id}:recipient-{person.pk}",
    ]
