"""Taking a person's name out of the mail that was sent to them."""

from collections.abc import Sequence

from mailkoenig.lib import db

OPEN = """
SELECT EXISTS (
    SELECT FROM campaign_recipients
    WHERE (contact_id = (SELECT id FROM contacts WHERE email = %(address)s) OR id = ANY(%(recipients)s::bigint[]))
      AND email = %(address)s AND status IN ('sending', 'unknown')
) OR EXISTS (SELECT FROM email_jobs WHERE email = %(address)s AND status IN ('sending', 'unknown'))
"""


def is_open(address: str, *, recipients: Sequence[int]) -> bool:
    """Say whether a mail to an address is on its way, or nobody knows whether it was sent."""
    return bool(db.value(OPEN, {"address": address, "recipients": db.array(recipients)}))


# Whoever still waits is not sent to. The row stays: it is one of the campaign's numbers.
RECIPIENTS = """
UPDATE campaign_recipients
SET email = '', name = '', contact_id = NULL,
    status = CASE WHEN status = 'pending' THEN 'skipped' ELSE status END,
    reason = CASE WHEN status = 'pending' THEN 'erased' ELSE replace(reason, %(address)s, '(erased)') END
WHERE (contact_id = (SELECT id FROM contacts WHERE email = %(address)s) OR id = ANY(%(recipients)s::bigint[]))
  AND email = %(address)s
"""


def recipients(address: str, *, recipients: Sequence[int]) -> int:
    """Take an address out of campaigns: those of its contact, and these rows; return how many."""
    return db.execute(RECIPIENTS, {"address": address, "recipients": db.array(recipients)})


# What the ledger holds of a message that was sent is its key alone.
MESSAGES = """
WITH gone AS (
    DELETE FROM email_jobs WHERE email = %(address)s RETURNING id
), files AS (
    DELETE FROM email_attachments AS a USING gone WHERE a.message_id = gone.id
), calls AS (
    UPDATE send_batches AS b SET answer = replace(b.answer, %(address)s, '(erased)')
    FROM gone WHERE b.message_id = gone.id AND position(%(address)s IN b.answer) > 0
)
SELECT count(*) FROM gone
"""


def messages(address: str) -> int:
    """Delete the messages to an address with their files; return how many."""
    return int(db.value(MESSAGES, {"address": address}))
