"""Combinations of settings that would hurt are named, each with what to do."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from mailkoenig.checks import check_settings, refuse_unsafe_settings


def ids() -> set[str | None]:
    return {message.id for message in check_settings()}


def test_the_settings_of_a_sound_site_say_nothing() -> None:
    assert ids() == set()


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("SECRET_KEY", "insecure-for-development-only", "mailkoenig.E001"),
        ("SECRET_KEY", "short", "mailkoenig.W001"),
        ("MAILGUN_SENDING_KEY", "", "mailkoenig.W003"),
        ("MAILGUN_WEBHOOK_SIGNING_KEYS", [], "mailkoenig.W004"),
        ("MAILGUN_READ_TIMEOUT", 5.0, "mailkoenig.W005"),
        ("ALERT_BY_EMAIL", False, "mailkoenig.W006"),
        ("ALERT_WEBHOOK_URL", "hooks.example.com", "mailkoenig.E002"),
    ],
)
def test_what_would_hurt_is_named(settings: Settings, name: str, value: object, found: str) -> None:
    setattr(settings, name, value)

    assert ids() == {found}
    assert all(message.hint for message in check_settings())


@pytest.mark.parametrize(
    ("url", "found"),
    [("http://mail.example.com", {"mailkoenig.W002"}), ("http://127.0.0.1:8000", set())],
)
def test_links_without_tls_are_named_but_on_this_machine(
    settings: Settings, url: str, found: set[str]
) -> None:
    settings.PUBLIC_URL, settings.HTTPS = url, False

    assert ids() == found


def test_nothing_is_asked_of_a_developer(settings: Settings) -> None:
    settings.DEBUG = True
    settings.SECRET_KEY = settings.INSECURE_KEY
    settings.MAILGUN_WEBHOOK_SIGNING_KEYS = []

    assert ids() == set()


def test_the_web_process_does_not_start_without_a_secret_key(settings: Settings) -> None:
    settings.SECRET_KEY = settings.INSECURE_KEY

    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY"):
        refuse_unsafe_settings()
