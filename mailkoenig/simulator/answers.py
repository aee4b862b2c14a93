"""The words of the provider's answers, the bad ones included."""

import random
from collections.abc import Callable, Sequence
from email.utils import formatdate

import orjson

from mailkoenig.simulator.faults import Facts, Fault
from mailkoenig.simulator.http import HTML, JSON, TEXT, Manner, Reply, json_reply, text_reply

UNVERIFIED = (
    "Domain {domain} is not allowed to send: The domain is unverified and requires DNS configuration. "
    "Log in to your control panel to view required DNS records."
)
MAGNIFICENT = "Mailgun Magnificent API"
PAGE = "<!doctype html><html><head><title>{title}</title></head><body><h1>{title}</h1><hr>nginx</body></html>"
HINTS = (
    "date-text",
    "seconds-text",
    "account-text",
    "retry-after",
    "retry-after-date",
    "retry-after-garbage",
    "retry-after-several",
    "retry-seconds",
    "none",
)


def message(text: str, status: int) -> Reply:
    """Answer with `{"message": …}`."""
    return json_reply({"message": text}, status)


def forbidden() -> Reply:
    """Answer as to a wrong key: a bare word."""
    return text_reply("Forbidden", 401)


def domain_not_found(domain: str) -> Reply:
    """Answer as to a domain of somebody else."""
    return message(f"Domain not found: {domain}", 404)


def unverified(domain: str) -> Reply:
    """Answer as to a domain whose DNS is not set up."""
    return message(UNVERIFIED.format(domain=domain), 400)


def magnificent() -> Reply:
    """Answer as to a wrong path."""
    return text_reply(MAGNIFICENT)


def delay(seconds: float | Sequence[float] | None, *, dice: random.Random) -> float:
    """Return a fixed delay, or one in a range."""
    if seconds is None:
        return 0.0
    if isinstance(seconds, int | float):
        return float(seconds)
    return dice.uniform(float(seconds[0]), float(seconds[-1]))


def faulty(fault: Fault, facts: Facts, *, usual: Reply, now: float) -> Reply:
    """Return what a fault answers; `usual` is what the call would have got, where it was accepted."""
    seconds = delay(fault.seconds, dice=random.Random(now))  # noqa: S311
    fixed = FIXED.get(fault.action)
    if fixed:
        return fixed(facts.domain)
    match fault.action:
        case "answer":
            body = fault.body if isinstance(fault.body, str) else orjson.dumps(fault.body).decode()
            kind = JSON if not isinstance(fault.body, str) or body.startswith(("{", "[")) else TEXT
            return Reply(fault.status or 200, body.encode(), kind, [(h[0], h[1]) for h in fault.headers])
        case "rate_limit":
            return rate_limit(fault, facts, now=now)
        case "bad_address":
            named = f" ('{fault.address or fault.only.get('address', '')}')" if fault.naming else ""
            return message(f"to parameter is not a valid address{named}. please check documentation", 400)
        case "probation":
            text = f"Rejected: Only {fault.limit} recipients per request is allowed on probation."
            return message(text, fault.status or 400)
        case "error":
            return message("Internal Server Error", fault.status or 500)
        case "hang":
            return Reply(manner=Manner.SILENT, seconds=seconds)
        case "drip":
            manner = Manner.DRIP_HEADERS if fault.part == "headers" else Manner.DRIP
            return Reply(usual.status, usual.body, usual.content_type, manner=manner, seconds=seconds or 1.0)
        case "cut":
            return Reply(usual.status, usual.body or b'{"message": "Queued."}', manner=Manner.CUT)
        case "drop":
            return Reply(manner=Manner.DROP)
        case "html":
            title = "502 Bad Gateway" if fault.status and fault.status >= 500 else "Welcome"
            return Reply(fault.status or 200, PAGE.format(title=title).encode(), HTML)
        case "truncated":
            return Reply(200, (usual.body or b'{"id": "<cut off"}')[: len(usual.body) // 2 or 8])
        case "redirect":
            return Reply(fault.status or 302, b"", TEXT, [("Location", fault.location)])
        case "empty":
            return usual
    raise AssertionError(fault.action)


FIXED: dict[str, Callable[[str], Reply]] = {
    "unverified": unverified,
    "unauthorized": lambda domain: forbidden(),
    "payment": lambda domain: message("Request Failed", 402),
    "terminated": lambda domain: message(f"Domain {domain} is not allowed to send: Account Terminated", 403),
    "large_batches": lambda domain: message(f"Domain {domain} is not allowed to send large batches yet", 403),
    "not_found": domain_not_found,
    "too_large": lambda domain: message("request size exceeds 52.4MiB limit", 413),
    "magnificent": lambda domain: magnificent(),
}


def rate_limit(fault: Fault, facts: Facts, *, now: float) -> Reply:
    """Answer that the limit is reached, with a hint in one of the shapes seen in the field."""
    wait = delay(fault.seconds if fault.seconds is not None else 60, dice=random.Random(now))  # noqa: S311
    until = formatdate(now + wait, usegmt=True).replace("GMT", "UTC")
    status = fault.status or 420
    kind = "recipient" if status == 420 else "request"
    start = f"Domain {facts.domain} is not allowed to send:"
    headers = [(str(h[0]), str(h[1])) for h in fault.headers]
    body: dict[str, object] = {"message": f"{start} {kind} limit exceeded"}
    match fault.hint:
        case "date-text":
            body["message"] = f"{start} {kind} limit exceeded, try again after {until}"
        case "seconds-text":
            body["message"] = f"{start} {kind} limit exceeded, try again after {wait:g} seconds"
        case "account-text":
            text = f"account-requests-per-sec limit exceeded, try again after {wait:g} seconds"
            body["message"] = f"{start} {text}"
        case "retry-after":
            headers.append(("Retry-After", f"{wait:g}"))
        case "retry-after-date":
            headers.append(("Retry-After", formatdate(now + wait, usegmt=True)))
        case "retry-after-garbage":
            headers.append(("Retry-After", "120junk"))
        case "retry-after-several":
            headers += [("Retry-After", "1"), ("Retry-After", f"{wait:g}")]
        case "retry-seconds":
            body["retry-seconds"] = wait
    return Reply(status, orjson.dumps(body), headers=headers)
