"""What staff see and do. Each module registers the pages of one model."""

from campaigns.admin.batch import SendBatchAdmin
from campaigns.admin.campaign import CampaignAdmin
from campaigns.admin.lists import GuardedListAdmin
from campaigns.admin.message import MessageAdmin
from campaigns.admin.recipient import RecipientAdmin
from campaigns.admin.sender import SenderDomainAdmin
from campaigns.admin.stream import StreamAdmin
from campaigns.admin.template import MessageTemplateAdmin
from campaigns.admin.unclear import UnclearBatchAdmin

__all__ = [
    "CampaignAdmin",
    "GuardedListAdmin",
    "MessageAdmin",
    "MessageTemplateAdmin",
    "RecipientAdmin",
    "SendBatchAdmin",
    "SenderDomainAdmin",
    "StreamAdmin",
    "UnclearBatchAdmin",
]
