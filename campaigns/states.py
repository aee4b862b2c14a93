"""Where a recipient stands, and how what the provider reports moves it: only upwards, so the order of events is no matter."""

from campaigns.models import Recipient
from mailkoenig.providers.types import EventType

Status = Recipient.Status

# Everything before acceptance is the bottom: proof that the provider took a mail outranks what we believed.
LADDER = (
    Status.SENT,
    Status.DELIVERED,
    Status.FAILED,  # taken, but the provider did not try: the address is on its own list
    Status.BOUNCED,
    Status.UNSUBSCRIBED,
    Status.COMPLAINED,
)
OPEN = (Status.PENDING, Status.SENDING, Status.UNKNOWN)

REACHED = {
    EventType.ACCEPTED: Status.SENT,
    EventType.DEFERRED: Status.SENT,
    EventType.DELIVERED: Status.DELIVERED,
    EventType.OPENED: Status.DELIVERED,  # what was read has arrived, even if nobody reported the delivery
    EventType.CLICKED: Status.DELIVERED,
    EventType.SUPPRESSED: Status.FAILED,
    EventType.REJECTED: Status.BOUNCED,
    EventType.BOUNCED: Status.BOUNCED,
    EventType.UNSUBSCRIBED: Status.UNSUBSCRIBED,
    EventType.COMPLAINED: Status.COMPLAINED,
}


def rank(status: str) -> int:
    """Return how far up the ladder a state is; 0 for all that is not known to be accepted."""
    return LADDER.index(Status(status)) + 1 if status in LADDER else 0


def advance(status: str, event: EventType) -> str:
    """Return the state after `event`: the higher of the present one and the one that the event proves."""
    reached = REACHED.get(event)
    return reached.value if reached and rank(reached) > rank(status) else status
