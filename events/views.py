"""Where the provider's webhooks come in."""

import logging
from datetime import timedelta
from functools import cache

from django.conf import settings
from django.db import DataError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from events import counts
from events.models import Event
from events.services import Replayed, ingest
from mailkoenig.lib.database_clock import clock
from mailkoenig.lib.request_body import TooLarge, read
from mailkoenig.providers.mailgun.webhook import Forged, Reader, Unreadable

logger = logging.getLogger(__name__)

RETRY_AFTER = 60


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def mailgun(request: HttpRequest) -> HttpResponse:
    """Take one event: 200 recorded or known, 403 not Mailgun's, 406 never readable, 413 too long, 503 try again."""
    if request.method != "POST":
        return answer(200, "Mailgun may post its webhooks here.")
    if not settings.MAILGUN_WEBHOOK_SIGNING_KEYS:
        warn_of_missing_keys()
        counts.refused("no key")
        return answer(403, "No webhook signing key is set.")
    try:
        body = read(request, most=settings.WEBHOOK_MAX_BYTES)
        delivery = reader().read(body, content_type=request.content_type or "", now=clock.now())
        is_new = ingest(delivery.event, source=Event.Source.WEBHOOK, proof=delivery.proof)
    except Forged as error:
        return refuse(403, str(error), count="signature")
    except Replayed:
        return refuse(403, "its signature was used for another body", count="replayed")
    except Unreadable as error:
        return refuse(406, str(error), count="unreadable")
    except TooLarge:
        return refuse(413, f"it is longer than {settings.WEBHOOK_MAX_BYTES} bytes", count="too large")
    except UnreadablePostError:
        return refuse(400, "it ended early", count="cut off")
    except DataError as error:
        # Sent again it would fail again, for hours; the log keeps the database's words, the sender hears the truth.
        counts.refused("not storable")
        logger.exception("webhook not storable", exc_info=error)
        return answer(406, "Not accepted: it can't be stored.")
    except (OperationalError, InterfaceError) as error:
        counts.refused("put off")
        logger.error("webhook put off", extra={"cause": str(error).partition("\n")[0]})
        return answer(503, "Try again later.", headers={"Retry-After": str(RETRY_AFTER)})
    counts.took(delivery.event.type.value if is_new else "repeated")
    return answer(200, "Recorded." if is_new else "Known already.")


def reader() -> Reader:
    """Return the reader that the settings ask for."""
    return Reader(
        keys=settings.MAILGUN_WEBHOOK_SIGNING_KEYS,
        max_age=timedelta(seconds=settings.WEBHOOK_MAX_AGE),
        max_ahead=timedelta(seconds=settings.WEBHOOK_MAX_AHEAD),
    )


def refuse(status: int, why: str, *, count: str) -> HttpResponse:
    """Answer no, say why in the log, and count it under a word."""
    counts.refused(count)
    logger.warning("webhook refused", extra={"status": status, "why": why})
    return answer(status, f"Not accepted: {why}.")


def answer(status: int, text: str, *, headers: dict[str, str] | None = None) -> HttpResponse:
    """Return a short text for a machine."""
    return HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8", headers=headers)


@cache
def warn_of_missing_keys() -> None:
    """Say once in the life of a process that every webhook is refused."""
    logger.error("every webhook is refused: set MAILGUN_WEBHOOK_SIGNING_KEYS to the HTTP webhook signing key")
