from collections.abc import Callable
from threading import Barrier, Thread

import pytest
from django.db import connection, transaction
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from contacts import services, sql
from contacts.models import Contact, Suppression
from contacts.states import STATUS_OF, STRENGTH, default_scope
from tests.factories import ContactFactory, SuppressionFactory

pytestmark = pytest.mark.django_db

Reason, Scope, Status = Suppression.Reason, Suppression.Scope, Contact.Status


def suppress(reason: Suppression.Reason, address: str = "carl@example.org") -> bool:
    return services.suppress(address=address, reason=reason, scope=default_scope(reason), source="test")


def status(address: str = "carl@example.org") -> str:
    return Contact.objects.get(email=address).status


def test_suppress_writes_the_suppression_and_its_shadow() -> None:
    ContactFactory.create(email="carl@example.org")

    assert services.suppress(
        address=" CARL@example.org", reason=Reason.BOUNCED, scope=Scope.ALL, source="mailgun", event="evt-1"
    )

    standing = Suppression.objects.get()
    assert (standing.address, standing.reason, standing.scope) == ("carl@example.org", "bounced", "all")
    assert (standing.source, standing.event) == ("mailgun", "evt-1")
    assert status() == "bounced"


def test_suppress_works_for_an_address_that_is_no_contact() -> None:
    assert suppress(Reason.COMPLAINED)

    assert sql.standing("carl@example.org") == ("complained", "all")
    assert not Contact.objects.exists()


def test_suppress_twice_changes_nothing_and_says_so() -> None:
    ContactFactory.create(email="carl@example.org")

    assert suppress(Reason.UNSUBSCRIBED)
    assert not suppress(Reason.UNSUBSCRIBED)

    assert Suppression.objects.count() == 1


def test_suppress_widens_the_scope_of_a_weaker_reason() -> None:
    suppress(Reason.BOUNCED)
    Suppression.objects.update(scope=Scope.MARKETING)

    assert services.suppress(
        address="carl@example.org", reason=Reason.MANUAL, scope=Scope.ALL, source="staff"
    )

    assert sql.standing("carl@example.org") == ("bounced", "all")


class Laws(TestCase):
    @given(st.lists(st.sampled_from(STRENGTH), min_size=1, max_size=6))
    def test_the_strongest_reason_stands_in_whatever_order_they_come(
        self, reasons: list[Suppression.Reason]
    ) -> None:
        Suppression.objects.all().delete()
        Contact.objects.all().delete()
        ContactFactory.create(email="carl@example.org")

        for reason in reasons:
            suppress(reason)

        strongest = max(reasons, key=STRENGTH.index)
        widest = "all" if any(default_scope(reason) == Scope.ALL for reason in reasons) else "marketing"
        self.assertEqual(sql.standing("carl@example.org"), (strongest.value, widest))
        self.assertEqual(status(), STATUS_OF[strongest].value)


def test_lift_leaves_a_trace_and_brings_the_contact_back() -> None:
    ContactFactory.create(email="carl@example.org")
    suppress(Reason.COMPLAINED)

    assert services.lift(address="carl@example.org", by="staff:ida")

    lifted = Suppression.objects.get()
    assert lifted.lifted_at is not None
    assert lifted.lifted_by == "staff:ida"
    assert status() == "active"
    assert not services.lift(address="carl@example.org", by="staff:ida")


def test_lift_of_a_state_without_a_suppression_leaves_a_trace_too() -> None:
    ContactFactory.create(email="carl@example.org", status="bounced")

    assert services.lift(address="carl@example.org", by="staff:ida")

    assert status() == "active"
    assert Suppression.objects.values_list("reason", "scope", "lifted_by").get() == (
        "bounced",
        "all",
        "staff:ida",
    )


def test_suppress_after_lift_stands_again() -> None:
    ContactFactory.create(email="carl@example.org")
    suppress(Reason.UNSUBSCRIBED)
    services.lift(address="carl@example.org", by="staff:ida")

    assert suppress(Reason.UNSUBSCRIBED)

    assert status() == "unsubscribed"
    assert Suppression.objects.count() == 2


def test_unsubscribe_and_resubscribe_go_by_the_token() -> None:
    contact = ContactFactory.create(email="carl@example.org")

    left = services.unsubscribe(contact.unsubscribe_token, source="link")
    assert left is not None
    assert services.may_resubscribe(left)

    back = services.resubscribe(contact.unsubscribe_token, source="link")
    assert back is not None
    assert services.is_subscribed(back)
    assert services.unsubscribe("nobody", source="link") is None
    assert services.resubscribe("nobody", source="link") is None


@pytest.mark.parametrize("reason", [Reason.MANUAL, Reason.BOUNCED, Reason.COMPLAINED])
def test_resubscribe_never_lifts_what_is_not_the_persons_own(reason: Suppression.Reason) -> None:
    contact = ContactFactory.create(email="carl@example.org")
    suppress(reason)

    found = services.resubscribe(contact.unsubscribe_token, source="link")

    assert found is not None
    assert not services.is_subscribed(found)
    assert not services.may_resubscribe(found)
    assert Suppression.objects.get().lifted_at is None


def test_eligible_asks_the_state_and_the_suppression() -> None:
    active, left, shadowless, lifted = ContactFactory.create_batch(4)
    suppress(Reason.UNSUBSCRIBED, left.email)
    SuppressionFactory.create(address=shadowless.email)
    suppress(Reason.BOUNCED, lifted.email)
    services.lift(address=lifted.email, by="staff:ida")

    everybody = [contact.pk for contact in (active, left, shadowless, lifted)]

    assert sql.eligible([*everybody, 0]) == {active.pk, lifted.pk}


def test_save_gives_a_new_contact_the_state_of_its_suppressed_address() -> None:
    suppress(Reason.COMPLAINED)
    contact = Contact(email="Carl@Example.org", name="Carl")

    services.save(contact)

    assert contact.status == "complained"


def test_save_of_some_fields_leaves_a_suppression_made_meanwhile() -> None:
    contact = ContactFactory.create(email="carl@example.org")
    suppress(Reason.UNSUBSCRIBED)
    contact.name = "Karl"

    services.save(contact, fields=["name"])

    assert (contact.name, contact.status) == ("Karl", "unsubscribed")


def test_unsubscribe_url_is_whole() -> None:
    assert services.unsubscribe_url("abc") == "https://mail.example.com/unsubscribe/abc/"


def at_once(*acts: Callable[[], object]) -> None:
    """Run the acts in threads that start together, each with a connection of its own."""
    barrier = Barrier(len(acts))
    errors: list[BaseException] = []

    def run(act: Callable[[], object]) -> None:
        try:
            barrier.wait(10)
            act()
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not errors


@pytest.mark.django_db(transaction=True)
def test_suppressions_at_once_leave_one_and_the_strongest() -> None:
    ContactFactory.create(email="carl@example.org")

    at_once(*[lambda reason=reason: suppress(reason) for reason in STRENGTH * 3])

    assert Suppression.objects.get().reason == "complained"
    assert status() == "complained"


@pytest.mark.django_db(transaction=True)
def test_suppress_that_waited_for_a_lift_still_stands_with_its_shadow() -> None:
    ContactFactory.create(email="carl@example.org")
    suppress(Reason.UNSUBSCRIBED)
    lifted, barrier = [], Barrier(2)

    def lift_slowly() -> None:
        with transaction.atomic():
            lifted.append(services.lift(address="carl@example.org", by="staff:ida"))
            barrier.wait(10)
            wait_for_a_blocked_backend()

    def suppress_meanwhile() -> None:
        barrier.wait(10)
        suppress(Reason.UNSUBSCRIBED)

    at_once(lift_slowly, suppress_meanwhile)

    assert lifted == [True]
    assert sql.standing("carl@example.org") == ("unsubscribed", "marketing")
    assert status() == "unsubscribed"


def wait_for_a_blocked_backend() -> None:
    """Return once another backend waits for us."""
    with connection.cursor() as cursor:
        for _ in range(500):
            cursor.execute("SELECT pg_sleep(0.01), count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[1]:
                return
    raise AssertionError("Nobody waited.")
