"""What housekeeping looks for: leases that ran out, schedules that are due, campaigns that are done."""

from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from campaigns.models import Campaign, SenderDomain
from mailkoenig.lib import audit, db

STALE = """
SELECT b.id, b.campaign_id, (SELECT s.name FROM streams AS s WHERE s.id = b.stream_id), b.state, b.worker
FROM send_batches AS b
WHERE b.state IN ('leased', 'in_flight') AND b.lease_expires_at <= statement_timestamp()
ORDER BY b.lease_expires_at
LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED
"""


class Stale(NamedTuple):
    """A batch whose lease ran out."""

    batch: UUID
    campaign: int | None
    stream: str
    state: str
    worker: str


def stale(*, limit: int = 50) -> list[Stale]:
    """Lock and return batches whose lease ran out, the oldest first; the locks end also when we freeze."""
    db.end_if_idle()
    return db.fetch(Stale, STALE, {"limit": limit})


# A schedule that nobody was there for is not made up for silently: the moment may have passed.
ACTIVATE = """
UPDATE campaigns
SET status = CASE WHEN scheduled_at > statement_timestamp() - %(grace)s THEN 'sending' ELSE 'paused' END,
    started_at = CASE WHEN scheduled_at > statement_timestamp() - %(grace)s
                      THEN coalesce(started_at, statement_timestamp()) ELSE started_at END,
    status_reason = CASE WHEN scheduled_at > statement_timestamp() - %(grace)s THEN ''
                         ELSE 'Its time passed while no worker was running: resume it if it is still right.' END
WHERE status = 'scheduled' AND scheduled_at <= statement_timestamp()
RETURNING id, status, name
"""


class CampaignId(NamedTuple):
    id: int


class Activated(NamedTuple):
    """A campaign whose time has come: `sending`, or `paused` where that was too long ago."""

    id: int
    status: str
    name: str


def activate(*, grace: timedelta) -> list[Activated]:
    """Start the campaigns whose time has come; who missed it by more than `grace` waits for a person."""
    return db.fetch(Activated, ACTIVATE, {"grace": grace})


# A campaign without a domain of its own goes out from the shared one.
SHARE = """
UPDATE campaigns
SET domain_id = (SELECT id FROM sender_domains WHERE is_shared ORDER BY id LIMIT 1),
    status = CASE WHEN EXISTS (SELECT FROM sender_domains WHERE is_shared) THEN status ELSE 'paused' END,
    status_reason = CASE WHEN EXISTS (SELECT FROM sender_domains WHERE is_shared) THEN ''
                         ELSE 'It has no sender domain and none is shared: choose one, then resume.' END
WHERE status = 'sending' AND domain_id IS NULL
RETURNING id, status, name
"""


def use_shared_domain() -> list[Activated]:
    """Give sending campaigns without a domain the shared one, or pause them where none is shared; return them."""
    return db.fetch(Activated, SHARE)


COMPLETE = """
UPDATE campaigns AS c
SET status = 'sent', finished_at = statement_timestamp(), status_reason = ''
WHERE c.status = 'sending' AND c.snapshot_finished_at IS NOT NULL
  AND NOT EXISTS (SELECT FROM campaign_recipients AS r WHERE r.campaign_id = c.id AND r.status = 'pending')
  AND NOT EXISTS (
    SELECT FROM campaign_recipients AS r WHERE r.campaign_id = c.id AND r.status IN ('sending', 'unknown')
  )
RETURNING c.id
"""


def complete() -> list[int]:
    """End the campaigns that have nobody left, and return them."""
    return [row.id for row in db.fetch(CampaignId, COMPLETE)]


LIFT_LIMITS = """
UPDATE sender_domains SET batch_limit = NULL, batch_limit_until = NULL
WHERE batch_limit_until <= statement_timestamp()
"""


def lift_limits() -> int:
    """End the smaller batches that a provider asked for, a day later."""
    return db.execute(LIFT_LIMITS)


# Calls that were open side by side and are all refused are one refusal: the next wait is longer once, not four times.
HOLD = """
UPDATE sender_domains AS d
SET held_until = greatest(d.held_until, statement_timestamp() + %(wait)s), held_reason = %(reason)s, probe_until = NULL,
    throttles = d.throttles + CASE WHEN b.started_at < d.throttled_at THEN 0 ELSE 1 END, throttled_at = statement_timestamp()
FROM send_batches AS b
WHERE b.id = %(batch)s AND d.id = b.domain_id
"""


def hold_domain(*, batch: UUID, wait: timedelta, reason: str) -> int:
    """Make everything from a batch's domain wait."""
    return db.execute(HOLD, {"batch": batch, "wait": wait, "reason": reason})


# One unclear outcome is bad luck; from the second in a row on the domain waits, or a provider that is down would have a
# whole campaign of them within minutes.
BRAKE = """
UPDATE sender_domains
SET held_until = CASE WHEN throttles > 0 THEN greatest(held_until, statement_timestamp() + %(wait)s) ELSE held_until END,
    held_reason = CASE WHEN throttles > 0 THEN %(reason)s ELSE held_reason END,
    probe_until = NULL, throttles = throttles + 1, throttled_at = statement_timestamp()
WHERE id = (SELECT domain_id FROM send_batches WHERE id = %(batch)s)
"""


def brake_domain(*, batch: UUID, wait: timedelta, reason: str) -> int:
    """Count an unclear outcome, and make everything from a batch's domain wait where it is not the first in a row."""
    return db.execute(BRAKE, {"batch": batch, "wait": wait, "reason": reason})


# A call that began before the provider asked for the wait says nothing about what it asked for.
RELEASE = """
UPDATE sender_domains AS d
SET held_until = NULL, probe_until = NULL, held_reason = '', throttles = 0, throttled_at = NULL
FROM send_batches AS b
WHERE b.id = %(batch)s AND d.id = b.domain_id AND (d.throttles > 0 OR d.held_until IS NOT NULL)
  AND (d.throttled_at IS NULL OR b.started_at > d.throttled_at)
"""


def release_domain(batch: UUID) -> int:
    """End the wait of a batch's domain: a call that began since has worked."""
    return db.execute(RELEASE, {"batch": batch})


PAUSE_DOMAIN = """
UPDATE sender_domains
SET status = 'paused', paused_reason = %(reason)s, held_until = NULL, probe_until = NULL, held_reason = '', throttles = 0
WHERE id = (SELECT domain_id FROM send_batches WHERE id = %(batch)s) AND status = 'active'
RETURNING id, name
"""


class Named(NamedTuple):
    """A row that was changed."""

    id: int
    name: str


def pause_domain(*, batch: UUID, reason: str) -> bool:
    """Stop everything from a batch's domain until a person resumes it, with a trace; False where it was paused already."""
    found = db.fetch_one(Named, PAUSE_DOMAIN, {"batch": batch, "reason": reason})
    if found is not None:
        audit.note(on=SenderDomain(pk=found.id, name=found.name), what=f"Paused: {reason}", by=audit.WORKER)
    return found is not None


LIMIT_DOMAIN = """
UPDATE sender_domains
SET batch_limit = least(batch_limit, %(limit)s), batch_limit_until = statement_timestamp() + interval '1 day'
WHERE id = (SELECT domain_id FROM send_batches WHERE id = %(batch)s)
"""


def limit_domain(*, batch: UUID, limit: int) -> int:
    """Send smaller batches from a batch's domain for a day."""
    return db.execute(LIMIT_DOMAIN, {"batch": batch, "limit": limit})


PAUSE_CAMPAIGN = """
UPDATE campaigns SET status = 'paused', status_reason = %(reason)s
WHERE id = (SELECT campaign_id FROM send_batches WHERE id = %(batch)s) AND status = 'sending'
RETURNING id, name
"""


def pause_campaign(*, batch: UUID, reason: str) -> bool:
    """Stop a batch's campaign until a person resumes it, with a trace; False where it was not sending any more."""
    found = db.fetch_one(Named, PAUSE_CAMPAIGN, {"batch": batch, "reason": reason})
    if found is not None:
        audit.note(on=Campaign(pk=found.id, name=found.name), what=f"Paused: {reason}", by=audit.WORKER)
    return found is not None
