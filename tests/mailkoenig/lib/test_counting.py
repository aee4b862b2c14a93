"""Numbers with their nouns."""

import pytest

from mailkoenig.lib.counting import many, people


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 calls"), (1, "1 call"), (2, "2 calls"), (12_480, "12,480 calls")]
)
def test_a_noun_goes_with_its_number(count: int, words: str) -> None:
    assert many(count, "call") == words


def test_one_of_the_people_is_a_person() -> None:
    assert [people(count) for count in (0, 1, 2)] == ["0 people", "1 person", "2 people"]
