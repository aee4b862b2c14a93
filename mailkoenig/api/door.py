"""The way in: the token, its rate, and no more of a body than the request may have."""

import json
import math
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from django.conf import settings
from django.http import HttpRequest, UnreadablePostError
from ninja.parser import Parser
from ninja.security.http import HttpAuthBase

from mailkoenig.api import sql
from mailkoenig.api.problems import Problem
from mailkoenig.api.services import PREFIX, digest_of
from mailkoenig.lib.request_body import TooLarge, read
from mailkoenig.lib.storable import UNSTORABLE

SMALL = 1_048_576
LONGEST_TOKEN = 200
READS = ("GET", "HEAD", "OPTIONS")
WITH_FILES = "/messages"
DEEPEST = 64


class Token(HttpAuthBase):
    """A token made in the admin under Settings, API tokens: `Authorization: Bearer mk_…`"""

    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> sql.Holder:
        """Return who asks. Raises Problem: 401, 403 by the verb, 413, 415, 429."""
        holder = admit(request)
        may = holder.can_read if request.method in READS else holder.can_write
        if not may:
            verb = "read" if request.method in READS else "write"
            raise Problem(403, f"This token may not {verb}: use another, made in the admin.", kind="not-held")
        if request.method not in READS:
            take_body(request)
        refuse_unstorable(request)
        return holder


def admit(request: HttpRequest) -> sql.Holder:
    """Return the holder of a request's token and count the request."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer" or not secret:
        refuse("Send a token: Authorization: Bearer mk_… (made in the admin under Settings, API tokens).")
    known = secret.startswith(PREFIX) and len(secret) <= LONGEST_TOKEN
    holder = sql.admit(digest_of(secret)) if known else None
    if holder is None:
        refuse("This token is not known, or was revoked: make a new one in the admin.", error="invalid_token")
    if not holder.is_within_rate:
        wait = max(1, math.ceil(holder.wait))
        raise Problem(
            429,
            f"This token's requests of this minute are used up: go on in {wait} s.",
            kind="rate",
            headers={"Retry-After": str(wait)},
        )
    return holder


def refuse(detail: str, *, error: str = "") -> NoReturn:
    """Ask for a token."""
    said = f', error="{error}"' if error else ""
    raise Problem(401, detail, headers={"WWW-Authenticate": f'Bearer realm="Mail Koenig"{said}'})


def take_body(request: HttpRequest) -> None:
    """Read the body as far as it may go; Django's own limit is for forms."""
    most = settings.API_MAX_BYTES if request.path.endswith(WITH_FILES) else min(SMALL, settings.API_MAX_BYTES)
    try:
        request._body = read(request, most=most)  # where Django keeps it
    except TooLarge as error:
        raise Problem(413, f"The body is larger than {most:,} bytes.") from error
    except UnreadablePostError as error:
        raise Problem(400, "The body ended early.") from error
    if request.body and request.content_type != "application/json":
        raise Problem(415, "The body must be JSON: send Content-Type: application/json.")


def refuse_unknown_parameters(view: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse a parameter that an operation does not know: passed over, a misspelt filter would answer with everything."""

    @wraps(view)
    def strict(request: HttpRequest, *args: Any, **given: Any) -> Any:
        known = list(type(given["filters"]).model_fields) if "filters" in given else []
        unknown = [(name, "There is no such parameter.") for name in request.GET if name not in known]
        if unknown:
            there = f"there are {', '.join(known)}" if known else "there are none here"
            names = ", ".join(name for name, _ in unknown[:3])
            raise Problem(
                422, f"{names}: There is no such parameter; {there}.", kind="refused", errors=unknown
            )
        return view(request, *args, **given)

    return strict


def refuse_unstorable(request: HttpRequest) -> None:
    """Refuse characters in the address that the database takes in no column."""
    if UNSTORABLE.search(request.path):
        raise Problem(404, "There is nothing here.")
    for field, text in request.GET.items():
        if UNSTORABLE.search(field + str(text)):
            raise Problem.of_field(UNSTORABLE.sub("?", field), "It holds a character that can't be stored.")


class StrictJson(Parser):
    """JSON and nothing that only Python calls so; what can't be stored is refused with the field's name."""

    def parse_body(self, request: HttpRequest) -> Any:
        try:
            document = json.loads(request.body, parse_constant=no_number)
        except (ValueError, RecursionError) as error:
            raise Problem(400, f"The body is no JSON: {cause(error)}.") from error
        place = unstorable(document)
        if place is not None:
            raise Problem.of_field(
                place or "body", "It holds a character that can't be stored, or is nested too deep."
            )
        return document


def no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def cause(error: Exception) -> str:
    """Return why it can't be read, without a word of it."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower()} in line {error.lineno}, column {error.colno}"
    return "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else "it can't be read"


def unstorable(value: Any, *, place: str = "", depth: int = 0) -> str | None:
    """Return where in a document something is that jsonb refuses; None where nothing is."""
    if isinstance(value, str):
        return place if UNSTORABLE.search(value) else None
    if not isinstance(value, dict | list):
        return None
    if depth >= DEEPEST:
        return place
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in pairs:
        if isinstance(key, str) and UNSTORABLE.search(key):
            return place
        found = unstorable(item, place=f"{place}.{key}".lstrip("."), depth=depth + 1)
        if found is not None:
            return found
    return None


# What a view asks of the holder


def holder_of(request: HttpRequest) -> sql.Holder:
    """Return who asks."""
    holder: sql.Holder = request.auth  # type: ignore[attr-defined]  # set by ninja
    return holder


def check_stream(holder: sql.Holder, stream: str) -> None:
    """Raise Problem where a token does not hold a stream."""
    if stream not in holder.streams:
        held = ", ".join(holder.streams) or "none"
        raise Problem(
            403,
            f"This token does not hold a stream {stream!r}; it holds: {held}.",
            kind="not-held",
            errors=[("stream", "The token does not hold it.")],
        )


def check_contacts(holder: sql.Holder) -> None:
    """Raise Problem where a token is not for people and lists."""
    if not holder.holds_contacts:
        raise Problem(
            403,
            "This token is not for contacts and lists: make one that is, in the admin under API tokens.",
            kind="not-held",
        )


def check_sending(holder: sql.Holder) -> None:
    """Raise Problem where a token may not stop all sending, nor let it go on."""
    if not holder.can_stop_sending:
        raise Problem(
            403,
            "This token may not stop all sending: make one that may, in the admin under API tokens.",
            kind="not-held",
        )


def check_campaigns(holder: sql.Holder) -> None:
    """Raise Problem where a token holds no stream of campaigns."""
    if not holder.holds_campaigns:
        raise Problem(
            403,
            "This token holds no stream for campaigns: make one that does, in the admin under API tokens.",
            kind="not-held",
        )
