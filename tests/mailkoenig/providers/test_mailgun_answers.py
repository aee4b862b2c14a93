"""What Mailgun's answers mean, by provider-facts section G."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailkoenig.providers.mailgun.answers import LEAST_WAIT, LONGEST_WAIT, PROBATION_LIMIT, meaning
from mailkoenig.providers.types import Kind, Outcome

NOW = datetime(2026, 9, 21, 14, 32, 0, tzinfo=UTC)


def answer(status: int, message: object = "", *headers: tuple[str, str]) -> Outcome:
    body = message if isinstance(message, bytes) else json.dumps({"message": message}).encode()
    return meaning(status=status, headers=headers, body=body, now=NOW)


def test_queued_with_an_id_is_sent_and_the_id_loses_its_brackets() -> None:
    outcome = answer(200, b'{"id": "<20260101.abc@mg.example.com>", "message": "Queued. Thank you."}')

    assert outcome == Outcome(Kind.SENT, "Queued. Thank you.", provider_id="20260101.abc@mg.example.com")


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (200, b'{"id": "<x@y>", "mess', Kind.UNKNOWN),
        (200, b"", Kind.UNKNOWN),
        (200, b"Mailgun Magnificent API", Kind.PAUSE_DOMAIN),
        (200, b"<html>Welcome</html>", Kind.PAUSE_DOMAIN),
        (301, b"", Kind.PAUSE_DOMAIN),
        (400, "to parameter is not a valid address. please check documentation", Kind.SPLIT),
        (400, "from parameter is not a valid address. please check documentation", Kind.PAUSE_CAMPAIGN),
        (400, "Need at least one of 'text' or 'html' parameters specified", Kind.PAUSE_CAMPAIGN),
        (400, "'recipient-variables' parameter is not a valid JSON", Kind.PAUSE_CAMPAIGN),
        (400, "Domain mg.example.com is not allowed to send: The domain is unverified", Kind.PAUSE_DOMAIN),
        (
            400,
            "Domain mg.example.com is not allowed to send: recipient limit exceeded, try again after Mon, 21 Sep 2026 14:33:21 UTC",
            Kind.RETRY,
        ),
        (401, b"Forbidden", Kind.PAUSE_DOMAIN),
        (402, "Request Failed", Kind.PAUSE_DOMAIN),
        (403, "Domain mg.example.com is not allowed to send: Account Terminated", Kind.PAUSE_DOMAIN),
        (404, "Domain not found: mg.example.com", Kind.PAUSE_DOMAIN),
        (413, "request size exceeds 52.4MiB limit", Kind.SPLIT),
        (418, "teapot", Kind.PAUSE_CAMPAIGN),
        (420, "Domain mg.example.com is not allowed to send: recipient limit exceeded", Kind.RETRY),
        (429, b"<html>slow down</html>", Kind.RETRY),
        (500, "Internal Server Error", Kind.UNKNOWN),
        (502, b"<html>Bad gateway</html>", Kind.UNKNOWN),
        (503, "maintenance, limit exceeded, try again after 5 seconds", Kind.UNKNOWN),
    ],
)
def test_answers_mean_what_the_facts_say(status: int, message: object, kind: Kind) -> None:
    assert answer(status, message).kind is kind


@pytest.mark.parametrize(
    ("status", "message", "limit"),
    [
        (400, "Rejected: Only 10 recipients per request is allowed on probation", 10),
        (400, "Rejected: Only 25 recipients per request is allowed on probation", 25),
        (403, "Domain mg.example.com is not allowed to send large batches yet", PROBATION_LIMIT),
        (400, "Too many recipients, max is 1000", PROBATION_LIMIT),
    ],
)
def test_a_limit_on_recipients_makes_smaller_batches(status: int, message: str, limit: int) -> None:
    outcome = answer(status, message)

    assert (outcome.kind, outcome.limit) == (Kind.SPLIT, limit)


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ([("Retry-After", "90")], "", 90),
        ([("retry-after", "2.5")], "", 2.5),
        ([("Retry-After", "Mon, 21 Sep 2026 14:33:30 GMT")], "", 90),
        ([("Retry-After", "1000000000")], "", 86_400),
        ([("Retry-After", "9223372037")], "", 86_400),
        ([("Retry-After", "0.1")], "", 1),
        ([("Retry-After", "5"), ("Retry-After", "60")], "", 60),
        ([("Retry-After", "Mon, 21 Sep 2020 14:33:30 GMT")], "", None),
        ([("Retry-After", "-5")], "", None),
        ([("Retry-After", "0")], "", None),
        ([("Retry-After", "120junk")], "", None),
        ([("Retry-After", "")], "", None),
        ([("Retry-After", "nan")], "", None),
        ([], "recipient limit exceeded, try again after Mon, 21 Sep 2026 14:33:21 UTC", 81),
        ([], "account-requests-per-sec limit exceeded, try again after 120 seconds", 120),
        ([("Retry-After", "5")], "limit exceeded, try again after 120 seconds", 120),
        ([], "limit exceeded, try again after Mon, 99 Sep 2026 99:33:21 UTC", None),
    ],
)
@pytest.mark.parametrize("status", [420, 429])
def test_the_longest_sensible_wait_is_kept(
    status: int, headers: list[tuple[str, str]], message: str, seconds: float | None
) -> None:
    outcome = answer(status, message, *headers)

    assert outcome.kind is Kind.RETRY
    assert outcome.after == (None if seconds is None else timedelta(seconds=seconds))


def test_json_retry_seconds_is_a_wait() -> None:
    assert answer(429, b'{"retry-seconds": 60}').after == timedelta(seconds=60)


@given(
    st.integers(100, 599),
    st.binary(max_size=200),
    st.lists(st.tuples(st.just("Retry-After"), st.text(max_size=40)), max_size=3),
)
def test_any_answer_has_a_meaning_and_a_wait_within_limits(
    status: int, body: bytes, headers: list[tuple[str, str]]
) -> None:
    outcome = meaning(status=status, headers=headers, body=body, now=NOW)

    assert outcome.after is None or LEAST_WAIT <= outcome.after <= LONGEST_WAIT
    assert outcome.reason == " ".join(outcome.reason.split())


@given(st.text(max_size=200), st.text(max_size=60))
def test_any_words_have_a_meaning(message: str, header: str) -> None:
    outcome = answer(429, message, ("Retry-After", header))

    assert outcome.kind is Kind.RETRY
