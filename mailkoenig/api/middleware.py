"""What Django itself answers below /api/, in the API's own words."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from mailkoenig.api.problems import CONTENT_TYPE, Problem

WORDS = {
    400: "The request can't be read.",
    404: "There is nothing here: see /api/v1/docs for what there is.",
    500: "Something went wrong on our side, and it is in the log. The same request with the same key is safe to repeat.",
}


def problems(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Turn every error page below /api/ into a problem document; nothing of it is kept by a cache."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if not request.path.startswith("/api/"):
            return response
        if response.status_code >= 400 and response.headers.get("Content-Type") != CONTENT_TYPE:
            response = as_problem(request, response)
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    return middleware


def as_problem(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return the problem document for an error page."""
    status = response.status_code
    if status == 405:
        allowed = response.headers["Allow"]
        return Problem(
            405, f"{request.method} is not possible here, only {allowed}.", headers={"Allow": allowed}
        ).response()
    return Problem(status, WORDS.get(status, "The request can't be answered.")).response()
