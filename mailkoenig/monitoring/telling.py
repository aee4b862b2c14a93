"""How people hear of an alert: by a mail server of its own, and by a signed POST to any address."""

import json
import logging
from datetime import timedelta
from smtplib import SMTPException
from typing import Any

import requests
from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import timezone

from mailkoenig.lib.clocks import clock, span
from mailkoenig.lib.database_clock import clock as database
from mailkoenig.lib.log import redact
from mailkoenig.lib.signing import sign
from mailkoenig.monitoring import sql
from mailkoenig.monitoring.models import Alert, Notice

logger = logging.getLogger(__name__)

EMAIL, WEBHOOK = Notice.Way.EMAIL.value, Notice.Way.WEBHOOK.value
TIMEOUTS = (5, 10)
# Longer than both ways may take; then somebody else may try.
LEASE = timedelta(minutes=2)
TITLES = {
    Alert.Kind.STALLED: "mail is stuck",
    Alert.Kind.NO_WORKER: "no worker is alive",
    Alert.Kind.SILENCE: "nothing comes back",
    Alert.Kind.UNKNOWN: "unknown outcomes wait",
    Alert.Kind.DOMAIN: "sending is paused",
    Alert.Kind.BOUNCES: "too many dead addresses",
    Alert.Kind.COMPLAINTS: "too many complaints",
}


class NotTold(Exception):
    """It could not be told; the message says why."""


def ways() -> list[str]:
    """Return the ways that are set up."""
    return [EMAIL] * settings.ALERT_BY_EMAIL + [WEBHOOK] * bool(settings.ALERT_WEBHOOK_URL)


def tell() -> int:
    """Tell everything that is due, each once; what can't be told now is kept for the next look. Return how many were told."""
    tried: set[int] = set()
    told = 0
    while notice := sql.claim(lease=LEASE, tried=tried):
        tried.add(notice.id)
        try:
            send(notice)
        except NotTold as error:
            sql.failed(notice.id, error=redact(str(error))[:500])
            logger.warning(
                "alert not told yet", extra={"way": notice.way, "kind": notice.kind, "why": str(error)}
            )
        else:
            sql.told(notice.id)
            told += 1
    return told


def send(notice: sql.Notice) -> None:
    """Tell one notice. Raises NotTold."""
    if notice.way not in ways():
        # Whoever took it away does not want to hear of it any more.
        return
    if notice.way == EMAIL:
        mail(notice)
    else:
        post(notice)


def mail(notice: sql.Notice) -> None:
    """Write to the administrators. Raises NotTold."""
    page = f"{settings.PUBLIC_URL}/admin/live/"
    body = (
        f"{text(notice)}\n\nHow it stands: {page}\n"
        "What it means and what to do: deploy/docs/operations.md, At 3 a.m.\n"
    )
    message = EmailMessage(
        subject=f"[Mail Koenig] {headline(notice)}",
        body=body,
        from_email=settings.SERVER_EMAIL,
        to=[address for _, address in settings.ADMINS],
        headers={"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"},
    )
    try:
        message.send()
    except (SMTPException, OSError) as error:
        raise NotTold(f"The mail server did not take it ({type(error).__name__}: {error}).") from error


def post(notice: sql.Notice) -> None:
    """Post to the webhook: any answer of 2xx is a yes, and no redirect is followed. Raises NotTold."""
    body = json.dumps(content(notice), ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "Mail-Koenig"}
    if settings.ALERT_WEBHOOK_SECRET:
        moment = str(int(database.now().timestamp()))
        headers["X-Mailkoenig-Timestamp"] = moment
        headers["X-Mailkoenig-Signature"] = sign(
            f"{moment}.{body.decode()}", key=settings.ALERT_WEBHOOK_SECRET
        )
    try:
        with requests.post(
            settings.ALERT_WEBHOOK_URL,
            data=body,
            headers=headers,
            timeout=TIMEOUTS,
            allow_redirects=False,
            stream=True,
        ) as answer:
            status = answer.status_code
    except requests.RequestException as error:
        raise NotTold(f"The webhook can't be reached ({type(error).__name__}).") from error
    if not 200 <= status < 300:
        raise NotTold(f"The webhook answered {status}.")


def content(notice: sql.Notice) -> dict[str, Any]:
    """Return what the webhook gets: `text` for people, the rest for programs."""
    details = json.loads(notice.details) if isinstance(notice.details, str) else notice.details
    return {
        "text": f"{headline(notice)}\n{text(notice)}",
        "event": notice.about,
        "id": f"{notice.kind}:{notice.subject}:{notice.began_at.isoformat()}",
        "kind": notice.kind,
        "subject": notice.subject,
        "severity": notice.severity,
        "summary": redact(notice.summary),
        "began_at": notice.began_at.isoformat(),
        "cleared_at": notice.cleared_at.isoformat() if notice.cleared_at else None,
        "details": json.loads(redact(json.dumps(details))),
        "site": settings.PUBLIC_URL,
    }


def headline(notice: sql.Notice) -> str:
    """Return the one line that shows on a phone."""
    title = TITLES[Alert.Kind(notice.kind)]
    about = f"{notice.subject}: {title}" if notice.subject else title
    return f"Over: {about}" if notice.about == Notice.About.CLEARED else about


def text(notice: sql.Notice) -> str:
    """Return what happened, without anybody's address."""
    since = clock(timezone.localtime(notice.began_at))
    if notice.cleared_at is None:
        return redact(f"{notice.summary}\nSince {since}.")
    lasted = span(notice.cleared_at - notice.began_at)
    return redact(f"It is over after {lasted}, since {since}. It was: {notice.summary}")
