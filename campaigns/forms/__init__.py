"""What people type."""

from campaigns.forms.campaign import REFUSALS, CampaignForm, frozen
from campaigns.forms.confirm import ReasonForm, SendForm
from campaigns.forms.limits import SenderDomainForm, StreamForm
from campaigns.forms.schedule import ScheduleForm
from campaigns.forms.template import MessageTemplateForm

__all__ = [
    "REFUSALS",
    "CampaignForm",
    "MessageTemplateForm",
    "ReasonForm",
    "ScheduleForm",
    "SendForm",
    "SenderDomainForm",
    "StreamForm",
    "frozen",
]
