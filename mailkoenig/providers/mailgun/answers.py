"""What Mailgun's answers mean: one pure function over status, headers and body, and one over what went wrong instead."""

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from mailkoenig.providers.types import Kind, Outcome

LEAST_WAIT = timedelta(seconds=1)
LONGEST_WAIT = timedelta(hours=24)
PROBATION_LIMIT = 10
LARGEST_REASON = 500

# Seen under 420, 429 and 400 alike, so the words decide and not the status.
THROTTLED = re.compile(r"limit exceeded,? try again|too many requests", re.I)
TOO_MANY = re.compile(r"too many recipients|recipients per request is allowed|large batches", re.I)
PER_REQUEST = re.compile(r"only (\d{1,4}) recipients per request|max is (\d{1,4})", re.I)
BAD_ADDRESS = re.compile(
    r"\bto parameter is not a valid address|recipient address .*(?:invalid|not valid)|invalid recipient|'to'.*not a valid",
    re.I,
)
NOT_ALLOWED = re.compile(r"not allowed to send|unverified|activate your|sandbox", re.I)
WAIT_SECONDS = re.compile(r"(?:after|in) (\d{1,10})(?:\.\d+)? ?s(?:ec|\b)", re.I)
WAIT_UNTIL = re.compile(
    r"after ((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? \d{1,2} \w{3} \d{4} [\d:]{5,8}(?: [A-Z+\-\d:]{1,6})?)", re.I
)
NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,9})?")


def meaning(*, status: int, headers: Iterable[tuple[str, str]], body: bytes, now: datetime) -> Outcome:
    """Return what an HTTP answer means for the whole call; `now` is needed for waits given as a date."""
    data = parsed(body)
    words = message(data, body)
    reason = f"{status}: {words}"[:LARGEST_REASON]
    if status == 200:
        return success(data, words)
    if status >= 500:
        # A customer saw 5xx for mail that was accepted and delivered; only the log can tell.
        return Outcome(Kind.UNKNOWN, reason)
    if status in (420, 429) or THROTTLED.search(words):
        return Outcome(Kind.RETRY, reason, after=wait(headers=headers, data=data, words=words, now=now))
    if status < 400:
        return Outcome(
            Kind.PAUSE_DOMAIN, f"{reason} (the provider's address redirects: check MAILGUN_API_URL)"
        )
    return refusal(status=status, words=words, reason=reason)


def success(data: Any, words: str) -> Outcome:
    """Judge a 200 by its shape: a wrong path under the host answers 200 as well."""
    if isinstance(data, dict) and data.get("id") and str(data.get("message", "")).startswith("Queued"):
        return Outcome(
            Kind.SENT, str(data["message"])[:LARGEST_REASON], provider_id=str(data["id"]).strip("<> ")[:255]
        )
    if re.search(r"Mailgun Magnificent|<html|<!doctype", words, re.I):
        return Outcome(
            Kind.PAUSE_DOMAIN,
            f"200 from something that is not Mailgun's message address: {words[:100]} (check MAILGUN_API_URL)",
        )
    return Outcome(Kind.UNKNOWN, f"200, but not Mailgun's answer: {words[:200]}")


def refusal(*, status: int, words: str, reason: str) -> Outcome:
    """Judge a 4xx: nothing was taken; is it one recipient, the campaign or all that we send from this domain?"""
    if TOO_MANY.search(words):
        return Outcome(Kind.SPLIT, reason, limit=stated_limit(words))
    if status in (401, 402, 403, 404, 407) or NOT_ALLOWED.search(words):
        return Outcome(Kind.PAUSE_DOMAIN, reason)
    if status == 413:
        return Outcome(Kind.SPLIT, reason, is_too_large=True)
    if BAD_ADDRESS.search(words):
        return Outcome(Kind.SPLIT, reason)
    if status == 408 or status == 425:
        return Outcome(Kind.RETRY, reason)
    return Outcome(Kind.PAUSE_CAMPAIGN, reason)


def stated_limit(words: str) -> int:
    """Return how many recipients a call may have: the number in the words, unless it is the documented 1,000."""
    found = PER_REQUEST.search(words)
    number = int(found.group(1) or found.group(2)) if found else 0
    return number if 0 < number < 1000 else PROBATION_LIMIT


def wait(*, headers: Iterable[tuple[str, str]], data: Any, words: str, now: datetime) -> timedelta | None:
    """Return the longest wait that the answer names anywhere, within limits; None where it names none that makes sense."""
    hints = [hint(text, now=now) for name, text in headers if name.lower() == "retry-after"]
    if isinstance(data, dict):
        hints += [hint(str(data[key]), now=now) for key in ("retry-seconds", "retry_after") if key in data]
    for found in WAIT_SECONDS.findall(words):
        hints.append(hint(found, now=now))
    for found in WAIT_UNTIL.findall(words):
        hints.append(until(found, now=now))
    named = [found for found in hints if found is not None]
    return min(max([*named, LEAST_WAIT]), LONGEST_WAIT) if named else None


def hint(text: str, *, now: datetime) -> timedelta | None:
    """Read one wait: seconds or an HTTP date; None for what is neither, negative, nothing or past."""
    text = text.strip()
    if NUMBER.fullmatch(text):
        return timedelta(seconds=min(float(text), LONGEST_WAIT.total_seconds())) if float(text) > 0 else None
    return until(text, now=now)


def until(text: str, *, now: datetime) -> timedelta | None:
    """Read a date as the time from now on; None when it is none or has passed."""
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment - now if moment > now else None


def parsed(body: bytes) -> Any:
    """Return the body as JSON, or None."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def message(data: Any, body: bytes) -> str:
    """Return the provider's words: the JSON's message, else the start of the text, on one line."""
    words = data.get("message") if isinstance(data, dict) else data
    text = words if isinstance(words, str) else body[:2000].decode("utf-8", "replace")
    return (
        " ".join("".join(c if c.isprintable() else " " for c in text).split())[:LARGEST_REASON] or "no text"
    )
