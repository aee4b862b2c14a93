"""How the states of contacts and the reasons of suppressions look."""

from contacts.models import Contact, Suppression
from mailkoenig.lib.marks import Look

STATUS = {
    Contact.Status.ACTIVE: Look("green", "check"),
    Contact.Status.UNSUBSCRIBED: Look("amber", "logout"),
    Contact.Status.BOUNCED: Look("red", "undo"),
    Contact.Status.COMPLAINED: Look("red", "report"),
}
REASON = {
    Suppression.Reason.MANUAL: Look("amber", "front_hand"),
    Suppression.Reason.UNSUBSCRIBED: Look("amber", "logout"),
    Suppression.Reason.BOUNCED: Look("red", "undo"),
    Suppression.Reason.COMPLAINED: Look("red", "report"),
}
SCOPE = {
    Suppression.Scope.MARKETING: "campaigns only; receipts still go out",
    Suppression.Scope.ALL: "all mail",
}
