"""Imports that meet each other, and people who leave meanwhile."""

from collections.abc import Callable
from io import BytesIO
from threading import Barrier, Thread

import pytest
from django.db import connection

from contacts import services
from contacts.importing import Report, import_contacts
from contacts.models import Contact, ContactImport, ContactList, Suppression

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*acts: Callable[[], Report]) -> list[Report]:
    """Run the acts in threads that start together and return what they return."""
    barrier = Barrier(len(acts))
    reports: list[Report] = []
    errors: list[BaseException] = []

    def run(act: Callable[[], Report]) -> None:
        try:
            barrier.wait(10)
            reports.append(act())
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    return reports


def people(numbers: range, *, name: str) -> bytes:
    return ("email,name\n" + "".join(f"p{n}@example.org,{name} {n}\n" for n in numbers)).encode()


@pytest.mark.parametrize("update", [False, True])
def test_two_imports_of_one_file_at_once_make_everybody_once(update: bool) -> None:
    forwards, backwards = people(range(3000), name="Person"), people(range(2999, -1, -1), name="Person")

    reports = at_once(
        *[
            lambda content=content: import_contacts(
                BytesIO(content), file_name="file.csv", list_name="News", update=update
            )
            for content in (forwards, backwards, forwards)
        ]
    )

    assert sum(report.created for report in reports) == Contact.objects.count() == 3000
    assert all(report.created + report.unchanged == 3000 for report in reports)
    assert ContactList.objects.get().contacts.count() == 3000
    assert ContactImport.objects.count() == 3


def test_two_updates_in_opposite_order_do_not_wait_in_a_circle() -> None:
    import_contacts(BytesIO(people(range(3000), name="Before")), file_name="file.csv")

    reports = at_once(
        lambda: import_contacts(BytesIO(people(range(3000), name="One")), file_name="file.csv", update=True),
        lambda: import_contacts(
            BytesIO(people(range(2999, -1, -1), name="Two")), file_name="file.csv", update=True
        ),
    )

    assert [report.updated for report in reports] == [3000, 3000]
    assert len({name.split()[0] for name in Contact.objects.values_list("name", flat=True)}) == 1


def test_who_leaves_while_an_import_makes_them_a_contact_is_left_alone() -> None:
    address = "p5@example.org"

    def leave(stage: str, position: int) -> None:
        """Unsubscribe on another connection, after the import has begun and before it commits."""
        if stage == "Storing":
            thread = Thread(target=suppress)
            thread.start()
            thread.join(30)

    def suppress() -> None:
        services.suppress(
            address=address,
            reason=Suppression.Reason.UNSUBSCRIBED,
            scope=Suppression.Scope.MARKETING,
            source="test",
        )
        connection.close()

    import_contacts(BytesIO(people(range(10), name="Person")), file_name="file.csv", progress=leave)

    assert not Contact.objects.filter(email=address, status="active").exists()
