"""Everything outbound."""

from campaigns.models.batch import SendBatch, UnclearBatch
from campaigns.models.campaign import Campaign
from campaigns.models.installation import Installation
from campaigns.models.ledger import SentMessage
from campaigns.models.message import Attachment, Message, MessageTemplate
from campaigns.models.recipient import Recipient
from campaigns.models.sender import SenderDomain
from campaigns.models.stream import Stream
from campaigns.models.tally import Tally
from campaigns.models.version import ContentVersion
from campaigns.models.worker import Worker

__all__ = [
    "Attachment",
    "Campaign",
    "ContentVersion",
    "Installation",
    "Message",
    "MessageTemplate",
    "Recipient",
    "SendBatch",
    "SenderDomain",
    "SentMessage",
    "Stream",
    "Tally",
    "UnclearBatch",
    "Worker",
]
