"""What a clock on the wall shows, as a moment: some times of the day do not exist and some happen twice."""

from datetime import datetime, timedelta, tzinfo
from enum import IntEnum

from django.utils import timezone


class Turn(IntEnum):
    """Which of the two is meant when a time happens twice."""

    FIRST = 0  # before the clocks go back
    SECOND = 1  # after


class MissingHour(ValueError):
    """The clocks skip this time; `instead` is what they show as long after the jump."""

    def __init__(self, instead: datetime) -> None:
        self.instead = instead
        super().__init__(f"the clocks skip this time; {instead:%H:%M} is what follows")


class DoubledHour(ValueError):
    """The clocks show this time twice; `first` and `second` are the two moments."""

    def __init__(self, first: datetime, second: datetime) -> None:
        self.first = first
        self.second = second
        super().__init__("the clocks show this time twice")


def moment(wall: datetime, *, zone: tzinfo, turn: Turn | None = None) -> datetime:
    """Return the moment at which clocks in `zone` show `wall`; raises MissingHour, and DoubledHour without a `turn`."""
    first = wall.replace(tzinfo=zone, fold=0)
    second = wall.replace(tzinfo=zone, fold=1)
    earlier, later = first.utcoffset() or timedelta(0), second.utcoffset() or timedelta(0)
    if earlier < later:
        raise MissingHour((wall + (later - earlier)).replace(tzinfo=zone))
    if earlier == later:
        return first
    if turn is None:
        raise DoubledHour(first, second)
    return second if turn is Turn.SECOND else first


def offset(at: datetime) -> str:
    """Return how far a moment's clock is from UTC, as people write it: UTC+2, UTC-4:30, UTC."""
    minutes = int((at.utcoffset() or timedelta(0)).total_seconds() // 60)
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else '-'}{hours}{f':{rest:02d}' if rest else ''}"


def clock(moment: datetime, *, zone: tzinfo | None = None) -> str:
    """Return a moment as a time of day with its zone (the site's unless given), and the day where it is another."""
    local = timezone.localtime(moment, zone)
    day = "" if local.date() == timezone.localdate(timezone=zone) else f"{local:%Y-%m-%d} "
    return f"{day}{local:%H:%M} {local:%Z}"


def span(length: timedelta) -> str:
    """Return a length of time in its two largest units, as people say it."""
    seconds = max(int(length.total_seconds()), 0)
    units = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
    for index, (name, size) in enumerate(units):
        if seconds >= size or name == "second":
            count, rest = divmod(seconds, size)
            words = [f"{count} {name}{'' if count == 1 else 's'}"]
            if index + 1 < len(units) and name in ("day", "hour") and (less := rest // units[index + 1][1]):
                words.append(f"{less} {units[index + 1][0]}{'' if less == 1 else 's'}")
            return " ".join(words)
    return "0 seconds"
