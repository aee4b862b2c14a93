"""What must be true of a call at the moment it is made."""

from collections.abc import Collection, Mapping
from datetime import timedelta

from django.db.models import Sum
from django.db.models.functions import Now

from campaigns.models import Recipient, SendBatch, SentMessage, Stream
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
    check_limits(batch.stream)
    assert batch.version is not None
    assert batch.version.body.partition(":")[0] in call.text, "the version kept is not what is sent"
    people = Recipient.objects.filter(campaign=batch.campaign, email__in=addresses)
    assert {(person.status, person.batch_id) for person in people} == {("sending", batch.pk)}
    known = [key for person in people for key in keys(person, owners)]
    assert not SentMessage.objects.filter(pk__in=known).exists(), "the ledger knew that it was sent"


def check_limits(stream: Stream) -> None:
    """With the call that has just begun a stream is within its limits, whatever they were before."""
    begun = SendBatch.objects.filter(stream=stream)
    open_calls = begun.filter(state="in_flight", started_at__gt=Now() - timedelta(minutes=2))
    assert open_calls.count() <= stream.concurrency, "too many calls at once"
    recent = begun.filter(started_at__gt=Now() - timedelta(minutes=1)).aggregate(people=Sum("size"))
    assert stream.rate_per_minute is None or recent["people"] <= stream.rate_per_minute, "too fast"


def keys(person: Recipient, owners: Mapping[int, int]) -> list[str]:
    """Return the keys that the ledger may have a recipient under; `owners` has the contact that each was made for."""
    owner = owners.get(person.pk)
    return [
        f"campaign-{person.campaign_id}:contact-{owner}",
        f"campaign-{person.campaign_id}:recipient-{person.pk}",
    ]
