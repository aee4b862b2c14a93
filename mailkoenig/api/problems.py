"""Every answer that is no success: a problem document (RFC 9457) that says what happened, what to do and which field."""

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import DataError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from campaigns.services import KeyTaken, MessageRefused, NotErasable, NotNow, NotSendable
from mailkoenig.lib.command import UserError

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
RETRY_AFTER = 30
# What a caller may tell apart by `type`; the rest is about:blank, for which the status says it all.
KINDS = {
    "suppressed": "The address may not be mailed",
    "key-taken": "The key was used for something else",
    "refused": "The content can't be accepted",
    "wrong-state": "Not possible in this state",
    "not-held": "The token does not allow it",
    "rate": "Too many requests",
    "not-now": "Not taken at present",
}


class Problem(Exception):
    """An answer that is no success."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        kind: str = "",
        errors: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.kind, self.errors = status, detail, kind, errors
        self.headers, self.more = headers or {}, more

    @classmethod
    def of_field(cls, field: str, message: str, *, status: int = 422, kind: str = "refused") -> "Problem":
        """Return the problem with one field."""
        return cls(status, f"{field}: {message}", kind=kind, errors=[(field, message)])

    def response(self) -> HttpResponse:
        """Return the document."""
        document = {
            "type": f"{settings.PUBLIC_URL}/api/v1/docs#{self.kind}" if self.kind else "about:blank",
            "title": KINDS.get(self.kind) or HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "errors": [{"field": field, "message": message} for field, message in self.errors],
            **self.more,
        }
        return HttpResponse(
            json.dumps(document), status=self.status, content_type=CONTENT_TYPE, headers=dict(self.headers)
        )


def of(error: Exception) -> Problem | None:
    """Return what an error means to the caller; None for what is a mistake of ours."""
    match error:
        case Problem():
            return error
        case HttpError() if error.__cause__ is not None:
            return of(error.__cause__) if isinstance(error.__cause__, Exception) else None
        case HttpError():
            return Problem(error.status_code, str(error))
        case ValidationError():
            return of_fields(error)
        case KeyTaken():
            return Problem(409, str(error), kind="key-taken", errors=[("idempotency_key", str(error))])
        case NotNow():
            return Problem(
                503,
                str(error),
                kind="not-now",
                errors=[(error.field, str(error))],
                headers={"Retry-After": str(RETRY_AFTER)},
            )
        case MessageRefused():
            return Problem.of_field(error.field, str(error))
        case NotSendable() | NotErasable():
            return Problem(409, str(error), kind="wrong-state")
        case UserError():
            return Problem(422, str(error), kind="refused")
        case Http404():
            return Problem(404, str(error) or "There is nothing here.")
        case DataError():
            logger.error("api request not storable", extra={"cause": str(error).partition("\n")[0]})
            return Problem(422, "It holds a value that can't be stored.", kind="refused")
        case OperationalError() | InterfaceError():
            logger.error("api request put off", extra={"cause": str(error).partition("\n")[0]})
            return unavailable()
    return None


def unavailable() -> Problem:
    return Problem(
        503,
        "The database does not answer: send the same request again later; its key makes that safe.",
        headers={"Retry-After": str(RETRY_AFTER)},
    )


def of_fields(error: ValidationError) -> Problem:
    """Return what does not fit its type, field by field; never what was sent."""
    errors = [(name(found["loc"]), sentence(found["msg"])) for found in error.errors]
    detail = " ".join(f"{field}: {message}" for field, message in errors[:3])
    return Problem(422, detail, kind="refused", errors=errors)


def name(place: Sequence[Any]) -> str:
    """Return a field's name as the caller wrote it: without whence it came and our argument's name."""
    parts = list(map(str, place))
    if parts[:1] == ["body"]:
        parts = parts[2:] or parts[:1]
    elif parts[:1] in (["query"], ["path"], ["header"]):
        parts = parts[-1:]
    return ".".join(parts)


def sentence(text: str) -> str:
    """Return pydantic's words as a sentence."""
    text = text.removeprefix("Value error, ").replace(
        "Extra inputs are not permitted", "There is no such field"
    )
    return text if text.endswith(".") else f"{text}."


def answer_with_problems(api: NinjaAPI) -> None:
    """Have an API answer every error with a problem document."""

    def handle(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
        problem = of(error) if isinstance(error, Exception) else None
        if problem is None:
            raise error
        return problem.response()

    for kind in (Exception, HttpError, ValidationError, Http404):
        api.add_exception_handler(kind, handle)
