"""Making and taking back tokens. The only writer of this room's table besides `sql`."""

import hashlib
import secrets
from collections.abc import Iterable
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from campaigns.models import Stream
from mailkoenig.api.models import ApiToken
from mailkoenig.lib import audit
from mailkoenig.lib.command import UserError

PREFIX = "mk_"
SHOWN = 9


class NameTaken(UserError):
    """A token of this name is in use."""


def digest_of(secret: str) -> str:
    """Return what is kept of a secret. It is 256 random bits, so that a plain hash can't be reversed by trying."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def create_token(token: ApiToken, *, streams: Iterable[Stream], by: str) -> str:
    """Write a token that is filled in but for its secret, and return that: nobody can be told it again. Raises NameTaken."""
    secret = f"{PREFIX}{secrets.token_urlsafe(32)}"
    token.visible, token.digest = secret[:SHOWN], digest_of(secret)
    try:
        with transaction.atomic():
            token.save(force_insert=True)
            token.streams.set(streams)
            audit.note(on=token, what=f"Created: {scope(token)}.", by=by)
    except IntegrityError as error:
        if "api_token_name_once_in_use" not in str(error):
            raise
        raise NameTaken(
            f"A token named {token.name!r} is in use: revoke it first, or choose another name."
        ) from error
    return secret


def revoke_token(token: ApiToken, *, reason: str, by: str) -> bool:
    """Refuse a token from the next request on; False when it was revoked already."""
    with transaction.atomic():
        revoked = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now())
        if revoked:
            audit.note(on=token, what=f"Revoked: {reason}", by=by)
    return bool(revoked)


def scope(token: ApiToken) -> str:
    """Say in words what a token may do."""
    verbs = " and ".join([*(["read"] if token.can_read else []), *(["write"] if token.can_write else [])])
    chosen = [stream.name for stream in token.streams.order_by("name")]
    what: list[Any] = [
        *(["all transactional streams"] if token.all_streams else []),
        *chosen,
        *(["contacts and lists"] if token.holds_contacts else []),
        *(["the stop of all sending"] if token.can_stop_sending else []),
    ]
    return f"may {verbs or 'do nothing'}: {', '.join(what) or 'nothing yet'}"
