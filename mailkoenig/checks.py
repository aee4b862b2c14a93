"""System checks: combinations of settings that would hurt, each with what to do."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register, run_checks
from django.core.exceptions import ImproperlyConfigured

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
TAG = "mailkoenig"


@register(TAG)
def check_settings(**kwargs: Any) -> list[CheckMessage]:
    """Look at the settings alone; what needs the database is checked where it is used."""
    return [*secret_key(), *public_url(), *mailgun(), *alerts()]


def secret_key() -> list[CheckMessage]:
    if settings.DEBUG:
        return []
    hint = (
        "Set SECRET_KEY to a long random text: python3 -c 'import secrets; print(secrets.token_urlsafe(50))'"
    )
    if settings.SECRET_KEY == settings.INSECURE_KEY:
        return [Error("There is no SECRET_KEY.", hint=hint, id="mailkoenig.E001")]
    if len(settings.SECRET_KEY) < 32:
        return [Warning("SECRET_KEY is shorter than 32 characters.", hint=hint, id="mailkoenig.W001")]
    return []


def public_url() -> list[CheckMessage]:
    if settings.DEBUG or settings.HTTPS or urlsplit(settings.PUBLIC_URL).hostname in LOOPBACK:
        return []
    return [
        Warning(
            "PUBLIC_URL does not begin with https: mail programs refuse one-click unsubscribe links without it.",
            hint="Serve the site over https and set PUBLIC_URL to that address.",
            id="mailkoenig.W002",
        )
    ]


def mailgun() -> list[CheckMessage]:
    if settings.DEBUG:
        return []
    found: list[CheckMessage] = []
    if not settings.MAILGUN_SENDING_KEY:
        found.append(
            Warning(
                "There is no Mailgun key: nothing can be sent.",
                hint="Set MAILGUN_SENDING_KEY (or MAILGUN_API_KEY) to the key shown in Mailgun's dashboard.",
                id="mailkoenig.W003",
            )
        )
    if not settings.MAILGUN_WEBHOOK_SIGNING_KEYS:
        found.append(
            Warning(
                "There is no webhook signing key: every event from Mailgun is refused.",
                hint="Set MAILGUN_WEBHOOK_SIGNING_KEYS to the HTTP webhook signing key of the account.",
                id="mailkoenig.W004",
            )
        )
    if settings.MAILGUN_READ_TIMEOUT < 10:
        found.append(
            Warning(
                "MAILGUN_READ_TIMEOUT is under 10 seconds: calls that Mailgun accepts will end as unknown.",
                hint="Leave it at 60 seconds; waiting costs little, an unclear outcome costs an hour.",
                id="mailkoenig.W005",
            )
        )
    return found


def alerts() -> list[CheckMessage]:
    if settings.DEBUG:
        return []
    found: list[CheckMessage] = []
    if not settings.ALERT_BY_EMAIL and not settings.ALERT_WEBHOOK_URL:
        missing = "EMAIL_URL" if settings.ADMINS else "ADMINS and EMAIL_URL"
        found.append(
            Warning(
                "Nobody is told when mail is stuck.",
                hint=f"Set {missing}, or ALERT_WEBHOOK_URL, so that an alert reaches somebody.",
                id="mailkoenig.W006",
            )
        )
    if settings.ALERT_WEBHOOK_URL and not urlsplit(settings.ALERT_WEBHOOK_URL).hostname:
        found.append(
            Error(
                "ALERT_WEBHOOK_URL is no address.",
                hint="Set it to one that begins with https://, or leave it empty.",
                id="mailkoenig.E002",
            )
        )
    return found


def refuse_unsafe_settings() -> None:
    """Raise ImproperlyConfigured where a check finds an error: the web process runs no command that would."""
    errors = [message for message in run_checks() if message.is_serious()]
    if errors:
        raise ImproperlyConfigured(" ".join(f"{error.msg} {error.hint or ''}".strip() for error in errors))
