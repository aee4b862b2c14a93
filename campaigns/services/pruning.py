"""Forgetting what is too old to be of use, a piece at a time."""

from datetime import UTC, datetime, timedelta

from campaigns.sql import pruning, tallies

EVER = datetime(1970, 1, 1, tzinfo=UTC)


def prune_messages(*, keep: timedelta, batch: int = 5_000) -> tuple[int, int]:
    """Delete messages that are over and older than `keep`, and their calls; return how many of each. The ledger stays."""
    messages = calls = 0
    after, since = 0, EVER
    while (some := pruning.messages(age=keep, after=after, limit=batch)).last is not None:
        messages, after = messages + some.messages, some.last
    while (few := pruning.batches(age=keep, after=since, limit=batch)).last is not None:
        calls, since = calls + few.batches, few.last
    return messages, calls


def fold_tallies(*, keep: timedelta) -> int:
    """Put counts by the minute that are older than `keep` into sums, which never fall; return how many sums."""
    return tallies.fold(keep=keep)
