from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailkoenig.lib.clocks import DoubledHour, MissingHour, Turn, moment, offset

BERLIN = ZoneInfo("Europe/Berlin")


def test_a_time_that_the_clocks_skip_is_refused_and_the_next_is_named() -> None:
    with pytest.raises(MissingHour) as refused:
        moment(datetime(2027, 3, 28, 2, 30), zone=BERLIN)
    assert f"{refused.value.instead:%H:%M}" == "03:30"


def test_a_time_that_happens_twice_asks_which() -> None:
    with pytest.raises(DoubledHour) as asked:
        moment(datetime(2027, 10, 31, 2, 30), zone=BERLIN)
    assert [offset(asked.value.first), offset(asked.value.second)] == ["UTC+2", "UTC+1"]


@pytest.mark.parametrize(("turn", "hour"), [(Turn.FIRST, 0), (Turn.SECOND, 1)])
def test_a_time_that_happens_twice_is_the_stated_one(turn: Turn, hour: int) -> None:
    found = moment(datetime(2027, 10, 31, 2, 30), zone=BERLIN, turn=turn)
    assert found.astimezone(UTC) == datetime(2027, 10, 31, hour, 30, tzinfo=UTC)


@given(st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2035, 1, 1)))
def test_what_is_a_moment_shows_the_same_time_on_the_wall(wall: datetime) -> None:
    try:
        found = moment(wall, zone=BERLIN, turn=Turn.FIRST)
    except MissingHour:
        return
    assert found.astimezone(UTC).astimezone(BERLIN).replace(tzinfo=None, fold=0) == wall


def test_offsets_read_as_people_write_them() -> None:
    newfoundland = datetime(2027, 1, 1, tzinfo=ZoneInfo("America/St_Johns"))
    assert [offset(newfoundland), offset(datetime(2027, 1, 1, tzinfo=UTC))] == ["UTC-3:30", "UTC"]
