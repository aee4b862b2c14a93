"""What a message template says, and what is wrong with it."""

from campaigns.calls import compiled
from campaigns.content import Compiled, ContentError, Source, check
from campaigns.models import MessageTemplate
from mailkoenig.providers import mailgun


def template_source(template: MessageTemplate) -> Source:
    """Return what the author wrote."""
    return Source(
        subject=template.subject,
        preheader=template.preheader,
        body=template.body,
        body_format=template.body_format,
        is_marketing=False,
    )


def compiled_template(template: MessageTemplate) -> Compiled:
    """Return a template's mail, ready for any values; raises ContentError that names field, line and tag."""
    return compiled(template_source(template), mailgun.DIALECT)


def template_errors(template: MessageTemplate) -> list[ContentError]:
    """Return everything that is wrong with what is written, each with its field, line and tag."""
    return check(template_source(template), dialect=mailgun.DIALECT)
