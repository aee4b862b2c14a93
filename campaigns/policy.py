"""How long we wait and when we give up: pure, the dice are an argument."""

from datetime import timedelta

BASE = timedelta(seconds=5)
CEILING = timedelta(minutes=15)


def backoff(attempts: int, *, dice: float) -> timedelta:
    """Return the delay after `attempts` tries (at least one); `dice` in [0, 1) spreads it by up to a fifth."""
    return min(BASE * (1 << min(max(attempts, 1) - 1, 10)), CEILING) * (1 + dice / 5)
