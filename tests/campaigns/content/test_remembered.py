"""Conditions that are computed once for all who have the same attributes."""

from campaigns.content.expressions import MOST_REMEMBERED
from tests.campaigns.content.mails import compiled, person

MAIL = compiled("""{% if city == "Berlin" and points > 9 %}Near{% else %}Far{% endif %} {{ city }}""")


def test_each_person_gets_their_own_branch_whatever_was_remembered_for_others() -> None:
    cities = [f"Town {n}" for n in range(MOST_REMEMBERED)] + ["Berlin"]
    people = [person(city=city, points=points) for city in cities for points in (9, 10, 10)]

    for someone in [*people, *reversed(people)]:
        is_near = someone.attributes == {"city": "Berlin", "points": 10}
        assert MAIL.render(someone).text.startswith("Near" if is_near else "Far")


def test_a_condition_on_a_name_is_computed_for_each_person() -> None:
    mail = compiled("""{% if name == city %}Same{% else %}Other{% endif %}""")

    assert mail.render(person(name="Ida", city="Ida")).text.startswith("Same")
    assert mail.render(person(name="Bo", city="Ida")).text.startswith("Other")
