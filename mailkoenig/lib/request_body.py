"""The body of a request, never more of it than asked for."""

from django.http import HttpRequest


class TooLarge(Exception):
    """The body is longer than we read."""


def read(request: HttpRequest, *, most: int) -> bytes:
    """Return the body; Content-Length may say anything or be missing, so no more than `most` is ever read."""
    length = request.META.get("CONTENT_LENGTH") or ""
    if length.isdigit() and int(length) > most:
        raise TooLarge
    # Django reads nothing without a length; a server that ends the stream itself lets us read a chunked body.
    is_chunked = not length and request.META.get("wsgi.input_terminated")
    body: bytes = (request.META["wsgi.input"] if is_chunked else request).read(most + 1)
    if len(body) > most:
        raise TooLarge
    return body
