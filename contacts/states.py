"""What a reason means: for the contact, for the mail it stops, and against other reasons."""

from contacts.models import Contact, Suppression

Reason, Scope, Status = Suppression.Reason, Suppression.Scope, Contact.Status

# Weakest first. A standing reason only ever gives way to a stronger one.
STRENGTH = (Reason.MANUAL, Reason.UNSUBSCRIBED, Reason.BOUNCED, Reason.COMPLAINED)

STATUS_OF = {
    Reason.MANUAL: Status.UNSUBSCRIBED,
    Reason.UNSUBSCRIBED: Status.UNSUBSCRIBED,
    Reason.BOUNCED: Status.BOUNCED,
    Reason.COMPLAINED: Status.COMPLAINED,
}
# A dead address, and a person who called our mail spam, get nothing at all; the others still get receipts.
SCOPE_OF = {
    Reason.MANUAL: Scope.MARKETING,
    Reason.UNSUBSCRIBED: Scope.MARKETING,
    Reason.BOUNCED: Scope.ALL,
    Reason.COMPLAINED: Scope.ALL,
}
# What a person may take back alone, with the link in their mail. All else takes a member of staff.
OWN = (Reason.UNSUBSCRIBED,)


def default_scope(reason: Suppression.Reason) -> Suppression.Scope:
    """Return which mail `reason` stops when nobody said more."""
    return SCOPE_OF[reason]
