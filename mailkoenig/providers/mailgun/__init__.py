"""Mailgun: how it writes variables. The client and the webhook reader are its modules."""

import re

from mailkoenig.providers.types import Dialect

# Anything that begins like one of Mailgun's own variables; they are few, and what they match in prose is not missed.
MISTAKEN = re.compile(
    r"%(?:recipient|(?:tag_|mailing_list_)?unsubscribe_(?:url|email)|mailing_list_)",
    re.IGNORECASE,
)

DIALECT = Dialect(placeholder="%recipient.{}%".format, mistaken=MISTAKEN, untracked='disable-tracking="true"')
