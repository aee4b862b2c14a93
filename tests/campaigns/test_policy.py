from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from campaigns.policy import BASE, CEILING, backoff


def test_backoff_begins_at_five_seconds_and_doubles() -> None:
    assert [backoff(n, dice=0).total_seconds() for n in (1, 2, 3, 4, 5)] == [5, 10, 20, 40, 80]


@given(st.integers(0, 10**9), st.floats(0, 1, exclude_max=True))
def test_backoff_stays_within_its_bounds(attempts: int, dice: float) -> None:
    assert BASE <= backoff(attempts, dice=dice) <= CEILING * 1.2


@given(st.integers(0, 10**6), st.floats(0, 1, exclude_max=True))
def test_backoff_is_spread_by_up_to_a_fifth(attempts: int, dice: float) -> None:
    still = backoff(attempts, dice=0)

    assert still <= backoff(attempts, dice=dice) <= still + still / 5 + timedelta(microseconds=1)
