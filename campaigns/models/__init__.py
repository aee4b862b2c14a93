"""Everything outbound."""

from campaigns.models.batch import SendBatch
from campaigns.models.campaign import Campaign
from campaigns.models.recipient import Recipient
from campaigns.models.sender import SenderDomain
from campaigns.models.stream import Stream

__all__ = ["Campaign", "Recipient", "SendBatch", "SenderDomain", "Stream"]
