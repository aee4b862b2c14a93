"""The API as one object, and its description."""

from typing import Any

import orjson
from django.http import HttpRequest
from ninja import NinjaAPI
from ninja.openapi.docs import Swagger
from ninja.renderers import BaseRenderer

from mailkoenig.api.door import StrictJson, Token, refuse_unknown_parameters
from mailkoenig.api.problems import CONTENT_TYPE, answer_with_problems
from mailkoenig.api.schemas.base import ProblemOut
from mailkoenig.api.views import campaigns, events, messages, people, sending, streams

ABOUT = """Mail for shops and other programs: one call, one key, one clear answer.

A token is made in the admin under Settings, API tokens; it is sent as `Authorization: Bearer mk_…`. Every answer that
is no success is a problem document (RFC 9457) that names the field. What can be tried again later says so with 429 or
503 and Retry-After; with the same `idempotency_key` a repetition is always safe."""

# Each operation may answer with these; 404, 409 and the like where its text says so.
PROBLEMS = {
    400: "The body can't be read as JSON.",
    401: "There is no token, or one that is not known or was revoked.",
    403: "The token does not allow it.",
    404: "There is no such thing, or not for this token.",
    409: "It can't be done in this state; of a key: it was used for something else.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "A field is wrong; `errors` names it.",
    429: "The token's requests of this minute are used up; Retry-After says for how long.",
    503: "The stream is being drained, or the database does not answer; try the same again later.",
}
WITHOUT_BODY = {400, 413, 415}


class Json(BaseRenderer):
    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return orjson.dumps(data)


class Docs(Swagger):
    """The description to read and to try out, from files of our own."""

    template = "api/docs.html"


class Api(NinjaAPI):
    """The API; its description names the problems that any operation may answer with."""

    def get_openapi_schema(self, *args: Any, **kwargs: Any) -> Any:
        schema = super().get_openapi_schema(*args, **kwargs)
        definition = ProblemOut.model_json_schema(ref_template="#/components/schemas/{model}")
        schema["components"]["schemas"] |= definition.pop("$defs") | {"Problem": definition}
        schema["components"]["responses"] = {f"Problem{status}": problem(status) for status in PROBLEMS}
        for methods in schema["paths"].values():
            for operation in methods.values():
                operation["summary"] = operation["operationId"].replace("_", " ").capitalize()
                left_out = set() if "requestBody" in operation else WITHOUT_BODY
                operation["responses"] |= {
                    str(status): {"$ref": f"#/components/responses/Problem{status}"}
                    for status in sorted(PROBLEMS.keys() - left_out)
                }
        return schema


def problem(status: int) -> dict[str, Any]:
    """Return the description of one problem."""
    found: dict[str, Any] = {
        "description": PROBLEMS[status],
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    if status in (429, 503):
        found["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
    if status == 401:
        found["headers"] = {"WWW-Authenticate": {"schema": {"type": "string"}}}
    return found


api = Api(
    title="Mail Koenig",
    version="1",
    description=ABOUT,
    urls_namespace="api",
    auth=Token(),
    parser=StrictJson(),
    renderer=Json(),
    docs=Docs(
        settings={"persistAuthorization": False, "tryItOutEnabled": True, "defaultModelsExpandDepth": 0}
    ),
)
answer_with_problems(api)
api.add_decorator(refuse_unknown_parameters)
api.add_router("/messages", messages.router)
api.add_router("/contacts", people.contacts)
api.add_router("/lists", people.lists)
api.add_router("/campaigns", campaigns.router)
api.add_router("/events", events.router)
api.add_router("/streams", streams.router)
api.add_router("/sending", sending.router)
