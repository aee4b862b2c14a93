"""Contacts and lists by HTTP."""

import pytest

from contacts import services as contacts
from contacts.models import Contact, ContactList, Membership, Suppression
from tests.factories import ContactFactory, ContactListFactory
from tests.mailkoenig.api.conftest import Caller, caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def office() -> Caller:
    return caller(holds_contacts=True)


def test_a_contact_is_made_and_changed_by_address(office: Caller) -> None:
    made = office("PUT", "contacts/Ada@Example.com", {"name": "Ada", "attributes": {"city": "Kiel"}})
    changed = office("PUT", "contacts/ada@example.com", {"name": "Ada Example"})

    assert (made.status_code, changed.status_code) == (201, 200)
    assert office("GET", "contacts/ada@example.com").json() == changed.json()
    known = {
        "email": "ada@example.com",
        "name": "Ada Example",
        "attributes": {"city": "Kiel"},
        "status": "active",
    }
    assert known.items() <= changed.json().items()


def test_an_upsert_lifts_no_suppression(office: Caller) -> None:
    contacts.suppress(
        address="ada@example.com",
        reason=Suppression.Reason.BOUNCED,
        scope=Suppression.Scope.ALL,
        source="test",
    )
    answer = office("PUT", "contacts/ada@example.com", {"name": "Ada"}).json()

    assert answer["status"] == "bounced"
    assert (answer["suppression"]["reason"], answer["suppression"]["scope"]) == ("bounced", "all")


@pytest.mark.parametrize(
    ("address", "body", "field"),
    [
        ("nobody", {}, "address"),
        ("a@example.com", {"attributes": {"Name": "x"}}, "attributes"),
        ("a@example.com", {"attributes": {"city": ["x"]}}, "attributes.city.str"),
        ("a@example.com", {"status": "active"}, "status"),
    ],
)
def test_what_is_wrong_with_a_contact_is_named(
    office: Caller, address: str, body: object, field: str
) -> None:
    answer = office("PUT", f"contacts/{address}", body)

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field
    assert not Contact.objects.exists()


def test_who_unsubscribes_gets_no_campaigns_contact_or_not(office: Caller) -> None:
    ContactFactory.create(email="ada@example.com")
    answers = [
        office("POST", f"contacts/{who}@example.com/unsubscribe") for who in ("ada", "ada", "stranger")
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert answers[2].json()["suppression"]["scope"] == "marketing"
    assert Contact.objects.get().status == "unsubscribed"


def test_an_erased_contact_is_gone_and_stays_suppressed(office: Caller) -> None:
    ContactFactory.create(email="ada@example.com")
    office("POST", "contacts/ada@example.com/unsubscribe")
    answers = [office("DELETE", "contacts/ada@example.com") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [204, 404]
    assert not Contact.objects.exists()
    assert not Suppression.objects.exists()
    back = office("PUT", "contacts/ada@example.com", {})
    assert back.json()["status"] != "active"
    assert Suppression.objects.filter(address="ada@example.com", lifted_at=None).exists()


def test_a_list_is_made_once_and_shown(office: Caller) -> None:
    made = office("POST", "lists", {"name": "News"})
    again = office("POST", "lists", {"name": "News"})

    assert (made.status_code, again.status_code) == (201, 409)
    assert office("GET", f"lists/{made.json()['id']}").json() == made.json()
    assert office("GET", "lists").json() == {"items": [made.json()], "next": None}
    assert office("GET", "lists/999").status_code == 404


def test_members_come_and_go_and_a_suppressed_one_stays_suppressed(office: Caller) -> None:
    news = ContactListFactory.create()
    office("POST", "contacts/gone@example.com/unsubscribe")
    people = {"addresses": ["Ada@example.com", "ada@example.com", "gone@example.com"]}

    added, again = (office("POST", f"lists/{news.pk}/members/add", people).json() for _ in range(2))

    assert (added, again) == ({"changed": 2}, {"changed": 0})
    assert Contact.objects.get(email="gone@example.com").status == "unsubscribed"
    removed = office("POST", f"lists/{news.pk}/members/remove", people).json()
    assert removed == {"changed": 2}
    assert not Membership.objects.exists()


def test_one_bad_address_keeps_everybody_off_the_list(office: Caller) -> None:
    news = ContactListFactory.create()
    answer = office("POST", f"lists/{news.pk}/members/add", {"addresses": ["ada@example.com", "x"]})

    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["addresses.1"]
    assert not Contact.objects.exists()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "contacts/ada@example.com", None),
        ("PUT", "contacts/ada@example.com", {}),
        ("POST", "contacts/ada@example.com/unsubscribe", None),
        ("DELETE", "contacts/ada@example.com", None),
        ("GET", "lists", None),
        ("POST", "lists", {"name": "x"}),
        ("GET", "lists/1", None),
        ("POST", "lists/1/members/add", {"addresses": ["a@example.com"]}),
        ("POST", "lists/1/members/remove", {"addresses": ["a@example.com"]}),
    ],
)
def test_a_shops_token_learns_and_changes_nothing_about_people(
    shop: Caller, method: str, path: str, body: object
) -> None:
    ContactFactory.create(email="ada@example.com")
    answer = shop(method, path, body)

    assert answer.status_code == 403
    assert answer.json()["type"].endswith("#not-held")
    assert not ContactList.objects.exists()
    assert Contact.objects.get().status == "active"
