import pytest
from django.db import IntegrityError, transaction

from contacts.models import Contact
from tests.factories import ContactFactory, SuppressionFactory

pytestmark = pytest.mark.django_db


def test_contact_is_found_by_any_spelling_of_its_address() -> None:
    contact = ContactFactory.create(email="  Carl@Example.ORG ")

    assert Contact.objects.get(email="CARL@example.org") == contact
    contact.refresh_from_db()
    assert contact.email == "carl@example.org"


def test_second_contact_with_the_same_address_is_refused() -> None:
    ContactFactory.create(email="carl@example.org")

    with pytest.raises(IntegrityError, match="contacts_email"), transaction.atomic():
        ContactFactory.create(email="CARL@example.org")


def test_address_has_one_standing_suppression() -> None:
    SuppressionFactory.create(address="carl@example.org")

    with pytest.raises(IntegrityError, match="suppression_once_per_address"), transaction.atomic():
        SuppressionFactory.create(address="carl@example.org")


def test_international_domain_is_kept_in_ascii() -> None:
    contact = ContactFactory.create(email="post@müller.example")

    contact.refresh_from_db()

    assert contact.email == "post@xn--mller-kva.example"
