"""The one trail of who did what and when: the admin's own log, which everything else writes to as well.

Its rows name a user. Whoever is none (a person on the command line, an API token, a worker) gets a row among the users
that nobody can sign in as; its name holds a space, which no member of staff's can.
"""

from django.db import transaction
from django.db.models import Model

from mailkoenig.lib import db

WORKER = "a worker"
OWN_CODE = "our own code"
CHANGE = 2  # django.contrib.admin.models.CHANGE; the worker runs without that app
LONGEST_NAME = 150
LONGEST_REPR = 200

# An account that signs nobody in: no password fits "!".
ACTOR = """
INSERT INTO auth_user (username, password, first_name, last_name, email, is_superuser, is_staff, is_active, date_joined)
SELECT %(name)s, '!', '', '', '', false, false, false, statement_timestamp()
WHERE NOT EXISTS (SELECT FROM auth_user WHERE username = %(name)s)
ON CONFLICT (username) DO NOTHING
"""
IS_USER = "SELECT EXISTS (SELECT FROM auth_user WHERE username = %(name)s)"
NOTE = """
INSERT INTO django_admin_log (action_time, user_id, content_type_id, object_id, object_repr, action_flag, change_message)
SELECT statement_timestamp(), u.id,
       (SELECT id FROM django_content_type WHERE app_label = %(app)s AND model = %(model)s),
       %(id)s, %(about)s, %(flag)s, %(what)s
FROM auth_user AS u WHERE u.username = %(by)s
"""


def note(*, on: Model | str, what: str, by: str) -> None:
    """Add to the audit trail that `by` did `what` to `on`, within the present transaction.

    `on` is a row (saved or not; its `pk` and words are taken) or the name of what is none, such as "all sending".
    `what` is a sentence with the reason in it: "Paused: the provider is slow." `by` is a member of staff's user name, or
    whoever acted without being one: "root on the command line", "API token shop", audit.WORKER.
    """
    name = actor(by)
    row = on if isinstance(on, Model) else None
    parameters = {
        "app": row._meta.app_label if row else "",
        "model": row._meta.model_name if row else "",
        "id": None if row is None or row.pk is None else str(row.pk),
        "about": str(on)[:LONGEST_REPR],
        "flag": CHANGE,
        "what": f" {what}" if what.startswith("[") else what,  # else the admin takes it for its own JSON
        "by": name,
    }
    with transaction.atomic():
        if not db.execute(NOTE, parameters):
            db.execute(ACTOR, {"name": name})
            db.execute(NOTE, parameters)


FORGET = """
UPDATE django_admin_log
SET object_repr = replace(object_repr, %(text)s, '(erased)'), change_message = replace(change_message, %(text)s, '(erased)')
WHERE position(%(text)s IN object_repr) > 0 OR position(%(text)s IN change_message) > 0
"""


def forget(text: str) -> int:
    """Take a text, such as somebody's address, out of the trail; return out of how many rows."""
    return db.execute(FORGET, {"text": text})


def actor(by: str) -> str:
    """Return the name that somebody stands under in the trail: a user's own, or one that no user can have."""
    name = " ".join(by.replace("\0", "").split())[:LONGEST_NAME] or OWN_CODE
    if is_somebody_else(name) or db.value(IS_USER, {"name": name}):
        return name
    return f"{name[: LONGEST_NAME - 13]} (no account)"


def is_somebody_else(name: str) -> bool:
    """Say whether a name in the trail is of somebody who is no member of staff."""
    return " " in name
