"""What a failure that Mailgun reports says about the address: pure."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from mailkoenig.providers.types import EventType

# Mailgun did not try: the address is on the domain's own list. Its codes 605 to 607 are told differently by different
# sources, so only the word counts.
SUPPRESSED = {
    "suppress-bounce": "bounced",
    "suppress-unsubscribe": "unsubscribed",
    "suppress-complaint": "complained",
}
# RFC 3463 and the registry of RFC 5248: nobody will ever read mail at this address.
DEAD = {
    "5.1.1",  # no such mailbox
    "5.1.3",  # bad syntax
    "5.1.6",  # moved, with no forwarding
    "5.1.10",  # the domain takes no mail (null MX)
    "5.2.1",  # mailbox disabled
}
# Faults of ours, of the mail or of the moment. 5.1.2 and 5.4.4 (no such domain, no route) stand here on purpose: one
# broken DNS record would otherwise cost a company all its readers for ever.
NOT_THE_ADDRESS = re.compile(r"4\..*|5\.1\.[278]|5\.[23467]\.\d+")
ENHANCED = re.compile(r"(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)")
# What servers write where they give no enhanced code. A refusal of the mail outweighs a word about the mailbox:
# "mailbox unavailable: blocked using …" is no dead address.
POLICY_WORDS = re.compile(
    r"spam|block|black|reputation|polic(?:y|ies)|denied|banned|dmarc|dkim|\bspf\b|authenticat|virus|malware"
    r"|\bcontent\b|gr[ae]ylist|\brate\b|throttl|too many|try again|temporar|\brbl\b|dnsbl|relay"
    r"|quota|\bfull\b|\bstorage\b|too (?:large|big)|\bsize\b",
    re.IGNORECASE,
)
DEAD_WORDS = re.compile(
    r"no such|unknown (?:user|recipient|address|mailbox)|(?:user|recipient|address|mailbox|account) (?:is )?unknown"
    r"|does(?: not|n't) exist|not exist|user not found|recipient not found|mailbox not found|address not found"
    r"|mailbox unavailable|invalid (?:recipient|mailbox|user)|disabled|inactive|not a valid (?:user|mailbox)",
    re.IGNORECASE,
)
# Mailgun puts the address on its own bounce list for these.
SERVER_SAID_NO = {"bounce", "hardfail"}


class Failure(NamedTuple):
    """What a failure means."""

    type: EventType
    suppression: str = ""


def classify(*, severity: str, reason: str, status: Mapping[str, object]) -> Failure:
    """Say what a `failed` event means, from its severity, its reason and its `delivery-status`.

    Permanent alone is no dead address: it may be a full mailbox, a spam filter or an hour of retries used up. A
    severity that is missing or that we do not know is taken as temporary: nothing final follows from it.
    """
    word = reason.strip().casefold()
    if word.startswith("suppress-"):
        return Failure(EventType.SUPPRESSED, SUPPRESSED.get(word, ""))
    if severity.strip().casefold() != "permanent":
        return Failure(EventType.DEFERRED)
    return Failure(EventType.BOUNCED if is_dead(reason=word, status=status) else EventType.REJECTED)


def is_dead(*, reason: str, status: Mapping[str, object]) -> bool:
    """Say whether a permanent failure proves that the address is dead."""
    kind = text(status, "bounce-type").strip().casefold()
    if kind in ("hard", "soft"):
        return kind == "hard"
    words = f"{text(status, 'message')} {text(status, 'description')}"
    codes = f"{text(status, 'enhanced-code')} {text(status, 'bounce-code')} {words}"
    for enhanced in ENHANCED.findall(codes):
        if enhanced in DEAD:
            return True
        if NOT_THE_ADDRESS.fullmatch(enhanced):
            return False
    code = text(status, "code").partition(".")[0]
    if POLICY_WORDS.search(words) or not re.fullmatch(r"5\d\d|0?", code):
        return False
    return bool(DEAD_WORDS.search(words)) or reason in SERVER_SAID_NO


def text(values: Mapping[str, object], key: str) -> str:
    """Return the value at `key` as text, and nothing where it is neither text nor a number."""
    value = values.get(key)
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
