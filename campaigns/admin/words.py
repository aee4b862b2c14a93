"""How the states of campaigns, recipients and batches look."""

from campaigns.models import Campaign, Message, Recipient, SendBatch
from mailkoenig.lib.marks import Look, badge, link, shortened, when

__all__ = [
    "BATCH",
    "CAMPAIGN",
    "MESSAGE",
    "RECIPIENT",
    "RUNNING",
    "STOPPED",
    "WAITING",
    "Look",
    "badge",
    "link",
    "shortened",
    "when",
]

CAMPAIGN = {
    Campaign.Status.DRAFT: Look("grey", "edit"),
    Campaign.Status.SCHEDULED: Look("grey", "schedule"),
    Campaign.Status.SENDING: Look("blue", "send"),
    Campaign.Status.PAUSED: Look("amber", "pause"),
    Campaign.Status.SENT: Look("green", "check"),
    Campaign.Status.CANCELLED: Look("red", "block"),
}
RECIPIENT = {
    Recipient.Status.PENDING: Look("grey", "schedule"),
    Recipient.Status.SENDING: Look("blue", "lock"),
    Recipient.Status.SENT: Look("blue", "send"),
    Recipient.Status.DELIVERED: Look("green", "check"),
    Recipient.Status.BOUNCED: Look("red", "undo"),
    Recipient.Status.COMPLAINED: Look("red", "report"),
    Recipient.Status.UNSUBSCRIBED: Look("amber", "logout"),
    Recipient.Status.FAILED: Look("red", "error"),
    Recipient.Status.SKIPPED: Look("grey", "skip_next"),
    Recipient.Status.UNKNOWN: Look("amber", "help"),
}
MESSAGE = {
    **{Message.Status(status.value): look for status, look in RECIPIENT.items()},
    Message.Status.EXPIRED: Look("amber", "timer_off"),
    Message.Status.CANCELLED: Look("grey", "block"),
}
BATCH = {
    SendBatch.State.LEASED: Look("grey", "lock"),
    SendBatch.State.IN_FLIGHT: Look("blue", "send"),
    SendBatch.State.ACCEPTED: Look("green", "check"),
    SendBatch.State.RETURNED: Look("amber", "undo"),
    SendBatch.State.UNKNOWN: Look("amber", "help"),
}
RUNNING = Look("green", "check")
STOPPED = Look("red", "block")
WAITING = Look("amber", "hourglass_top")
