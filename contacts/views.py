"""The unsubscribe page: opening it changes nothing, a POST does, and needs neither session nor cookie (RFC 8058)."""

import re
import secrets

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.template.loader import render_to_string
from django.views.decorators.csrf import csrf_exempt

from contacts import services
from contacts.sql import Person

TOKEN = re.compile(r"[0-9A-Za-z_-]{1,64}")
METHODS = ["GET", "HEAD", "OPTIONS", "POST"]


@csrf_exempt
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """Show where the person stands; on POST take them off the list, or back on it where they ask for just that."""
    if request.method not in METHODS:
        return protected(HttpResponseNotAllowed(METHODS))
    if not TOKEN.fullmatch(token):
        return page(None)
    if request.method != "POST":
        return page(services.person(token))
    if wants_to_return(request):
        return page(services.resubscribe(token, source="the person, on the unsubscribe page"), is_answer=True)
    return page(services.unsubscribe(token, source="the person, by the unsubscribe link"), is_answer=True)


def wants_to_return(request: HttpRequest) -> bool:
    """Say whether it is the form of our page that asks to resubscribe; whatever else is posted means to leave."""
    if request.content_type != "application/x-www-form-urlencoded":
        return False
    try:
        return request.POST.get("do") == "resubscribe" and "List-Unsubscribe" not in request.POST
    except (SuspiciousOperation, MultiPartParserError, UnreadablePostError):
        return False


def page(person: Person | None, *, is_answer: bool = False) -> HttpResponse:
    """Return the page for a person, or for a link that is nobody's."""
    nonce = secrets.token_urlsafe(16)
    context = {
        "person": person,
        "is_answer": is_answer,
        "is_subscribed": person is not None and services.is_subscribed(person),
        "may_resubscribe": person is not None and services.may_resubscribe(person),
        "nonce": nonce,
    }
    response = HttpResponse(
        render_to_string("contacts/unsubscribe.html", context), status=404 if person is None else 200
    )
    response["Allow"] = ", ".join(METHODS)
    return protected(response, styles=f"'nonce-{nonce}'")


def protected(response: HttpResponse, *, styles: str = "'none'") -> HttpResponse:
    """Add what keeps the link between us and its owner: no cache, no index, no referrer, no script, no frame."""
    response["Cache-Control"] = "no-store, private"
    response["X-Robots-Tag"] = "noindex, nofollow"
    response["Referrer-Policy"] = "no-referrer"
    response["X-Frame-Options"] = "DENY"
    response["Content-Security-Policy"] = (
        f"default-src 'none'; style-src {styles}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    return response
