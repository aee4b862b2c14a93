"""Everything outbound."""

from campaigns.models.batch import SendBatch, UnclearBatch
from campaigns.models.campaign import Campaign
from campaigns.models.installation import Installation
from campaigns.models.ledger import SentMessage
from campaigns.models.recipient import Recipient
from campaigns.models.sender import SenderDomain
from campaigns.models.stream import Stream
from campaigns.models.version import ContentVersion

__all__ = [
    "Campaign",
    "ContentVersion",
    "Installation",
    "Recipient",
    "SendBatch",
    "SenderDomain",
    "SentMessage",
    "Stream",
    "UnclearBatch",
]
