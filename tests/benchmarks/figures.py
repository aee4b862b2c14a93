"""What a measurement says, beside what it has to say."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

Figure = dict[str, object]
Part = dict[str, object]


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    rounds: int
    recipients: int
    """Of one campaign end to end."""
    long_campaign: int
    table: int
    """Rows of the recipients' table, nearly all sent."""
    contacts: int
    """In the snapshot and in the imported file."""
    events: int
    """Webhooks a round."""
    idle_seconds: int


SCALES = {
    "small": Scale(3, 100_000, 200_000, 500_000, 100_000, 1_500, 12),
    "full": Scale(5, 100_000, 1_000_000, 5_000_000, 1_000_000, 5_000, 60),
}


def rate(rates: Sequence[float]) -> int:
    """Return the median of the rounds."""
    return round(median(rates))


def compared(
    ours: Sequence[float],
    against: Sequence[float],
    *,
    floor: float | None = None,
    stretch: float | None = None,
) -> Figure:
    """Set our rates beside what bounds them, round by round, with the target for the ratio."""
    ratio = median(mine / theirs for mine, theirs in zip(ours, against, strict=True))
    figure: Figure = {
        "per_second": rate(ours),
        "against_per_second": rate(against),
        "ratio": round(ratio, 3),
        "rounds": [round(mine / theirs, 3) for mine, theirs in zip(ours, against, strict=True)],
    }
    if floor is not None:
        figure |= {"floor": floor, "stretch": stretch, "ok": ratio >= floor}
    return figure


def at_most(value: float, *, ceiling: float, stretch: float | None = None) -> Figure:
    """Set a size beside what it may be at most."""
    return {"value": value, "ceiling": ceiling, "stretch": stretch, "ok": value <= ceiling}
