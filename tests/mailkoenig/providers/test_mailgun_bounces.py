"""A failure is the end of an address only where the provider says so."""

from typing import Any

import pytest

from mailkoenig.providers.mailgun.bounces import classify
from mailkoenig.providers.types import EventType

BOUNCED, REJECTED, DEFERRED = EventType.BOUNCED, EventType.REJECTED, EventType.DEFERRED


def permanent(reason: str = "generic", **status: Any) -> EventType:
    status = {key.replace("_", "-"): value for key, value in status.items()}
    return classify(severity="permanent", reason=reason, status=status).type


@pytest.mark.parametrize("severity", ["temporary", "Temporary", "", "unknown", "fatal"])
def test_only_a_permanent_failure_is_final(severity: str) -> None:
    status = {"code": 550, "enhanced-code": "5.1.1", "bounce-type": "hard"}

    assert classify(severity=severity, reason="bounce", status=status).type is DEFERRED


@pytest.mark.parametrize("severity", ["permanent", "PERMANENT", " Permanent "])
def test_severity_in_capitals_is_the_same_word(severity: str) -> None:
    assert (
        classify(severity=severity, reason="bounce", status={"code": 550, "message": "no such user"}).type
        is BOUNCED
    )


@pytest.mark.parametrize("severity", ["permanent", "temporary", ""])
def test_the_providers_list_decides_before_severity(severity: str) -> None:
    found = classify(severity=severity, reason="suppress-bounce", status={"code": 605})

    assert (found.type, found.suppression) == (EventType.SUPPRESSED, "bounced")


def test_a_list_we_do_not_know_suppresses_nothing() -> None:
    assert classify(severity="permanent", reason="suppress-other", status={}).suppression == ""


def test_the_bounce_type_decides_before_the_codes() -> None:
    assert permanent(bounce_type="hard", code=550, enhanced_code="5.7.1") is BOUNCED
    assert permanent(bounce_type="soft", code=550, enhanced_code="5.1.1") is REJECTED


@pytest.mark.parametrize("enhanced", ["5.1.1", "5.1.3", "5.1.6", "5.1.10", "5.2.1"])
def test_these_codes_mean_a_dead_address(enhanced: str) -> None:
    assert permanent(code=550, enhanced_code=enhanced) is BOUNCED
    assert permanent(code=550, message=f"550 {enhanced} sorry") is BOUNCED
    assert permanent(code=550, bounce_code=enhanced) is BOUNCED


@pytest.mark.parametrize(
    "enhanced",
    [
        *("5.2.2", "4.2.2", "5.3.4", "5.4.7", "4.4.7", "5.2.3", "4.7.1"),  # full, too large, too slow
        *("5.7.1", "5.7.515", "5.7.26", "5.7.606", "5.6.0"),  # us or the mail
        *("5.1.2", "5.4.4"),  # the whole domain, perhaps for an hour
    ],
)
def test_these_codes_say_nothing_about_the_address(enhanced: str) -> None:
    assert permanent("bounce", code=550, enhanced_code=enhanced) is REJECTED


@pytest.mark.parametrize(
    "message",
    [
        "User unknown",
        "no such user here",
        "The email account that you tried to reach does not exist",
        "Requested action not taken: mailbox unavailable",
        "account is disabled",
    ],
)
def test_the_words_of_a_bare_550_may_name_a_dead_address(message: str) -> None:
    assert permanent(code=550, message=message) is BOUNCED


@pytest.mark.parametrize(
    "message",
    [
        "Message rejected as spam by our policy",
        "mailbox unavailable: blocked using zen.example.org",
        "mailbox full",
        "Over quota",
        "Relay access denied",
        "Unauthenticated email is not accepted due to DMARC",
    ],
)
def test_a_refusal_of_the_mail_is_no_dead_address(message: str) -> None:
    assert permanent("bounce", code=550, message=message) is REJECTED


def test_the_servers_plain_no_is_believed_as_the_provider_does() -> None:
    assert permanent("bounce", code=550, message="5.0.0 sorry") is BOUNCED
    assert permanent("generic", code=550, message="5.0.0 sorry") is REJECTED


@pytest.mark.parametrize("code", [498, 499, 602, 680, "451"])
def test_mailguns_own_codes_say_nothing_about_the_address(code: object) -> None:
    assert permanent("old", code=code, message="Too old") is REJECTED


@pytest.mark.parametrize("code", [None, [], {}, True, "x", 1e300])
def test_a_rubbish_status_never_raises(code: object) -> None:
    assert permanent("generic", code=code, message=code, bounce_type=code) is REJECTED


def test_an_address_of_a_server_is_no_enhanced_code() -> None:
    assert permanent(code=550, message="refused by 5.1.1.7") is REJECTED
