from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from contacts import services
from contacts.importing import import_contacts
from contacts.models import Contact, ContactImport, ContactList, Membership, Suppression
from contacts.states import default_scope
from tests.factories import (
    ContactFactory,
    ContactListFactory,
    MembershipFactory,
    SuppressionFactory,
    UserFactory,
)

pytestmark = pytest.mark.django_db

FILES = Path(__file__).parent / "files"
CONTACTS = "/admin/contacts/contact/"
IMPORT = reverse("admin:contacts_contact_import_file")
INLINE = {"memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(UserFactory.create(username="ida", is_superuser=True))
    return client


def with_rights(client: Client, *codenames: str) -> Client:
    """Log somebody in who has these rights and no others."""
    user = UserFactory.create()
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)
    return client


def suppress(address: str, reason: Suppression.Reason) -> None:
    services.suppress(address=address, reason=reason, scope=default_scope(reason), source="test")


def shown(response: Any) -> str:
    assert response.status_code == 200
    text: str = response.content.decode()
    return text


def test_every_page_opens_with_and_without_rows(staff: Client) -> None:
    pages = ["contact", "contactlist", "suppression", "contactimport"]
    for page in pages:
        shown(staff.get(f"/admin/contacts/{page}/"))

    member = MembershipFactory.create()
    suppress(member.contact.email, Suppression.Reason.BOUNCED)
    with (FILES / "c07_rubbish.csv").open("rb") as file:
        import_contacts(file, file_name="c07_rubbish.csv", list_name="News")

    for page, model in zip(pages, (Contact, ContactList, Suppression, ContactImport), strict=True):
        shown(staff.get(f"/admin/contacts/{page}/"))
        first = model._default_manager.first()
        assert first is not None
        shown(staff.get(f"/admin/contacts/{page}/{first.pk}/change/"))
    for page in ("contact", "contactlist", "suppression"):
        shown(staff.get(f"/admin/contacts/{page}/add/"))


def test_markup_in_names_is_escaped_on_every_page(staff: Client) -> None:
    with (FILES / "c10_html_names.csv").open("rb") as file:
        report = import_contacts(file, file_name="<b>file</b>.csv", list_name="<b>News</b>")
    contact = Contact.objects.get(email="h7@example.org")

    pages = [
        CONTACTS,
        f"{CONTACTS}?q=svg",
        f"{CONTACTS}?list={ContactList.objects.get().pk}",
        f"{CONTACTS}{contact.pk}/change/",
        f"{CONTACTS}{contact.pk}/delete/",
        f"/admin/contacts/contactimport/{report.contact_import}/change/",
        "/admin/contacts/contactimport/",
        "/admin/contacts/contactlist/",
        IMPORT,
    ]
    for page in pages:
        text = shown(staff.get(page))
        for markup in ("<b>", "<svg onload", "<script>document", 'href="https://example.com/x"', "<!-- Ida"):
            assert markup not in text, page


def test_search_finds_by_address_and_by_part_of_a_name(staff: Client) -> None:
    ContactFactory.create(email="carl@example.org", name="Carl Winter")
    ContactFactory.create(email="bea@example.org", name="Bea Sommer")

    for term in ("CARL@exa", "carl", "winter"):
        text = shown(staff.get(CONTACTS, {"q": term}))
        assert "carl@example.org" in text
        assert "bea@example.org" not in text
    shown(staff.get(CONTACTS, {"q": "\0%_\\"}))


def test_filters_narrow_the_list(staff: Client) -> None:
    member = MembershipFactory.create(contact__email="carl@example.org")
    ContactFactory.create(email="bea@example.org", status="bounced")

    by_list = shown(staff.get(CONTACTS, {"list": member.list_id}))
    assert "carl@example.org" in by_list
    assert "bea@example.org" not in by_list
    by_state = shown(staff.get(CONTACTS, {"status": "bounced"}))
    assert "bea@example.org" in by_state
    assert "carl@example.org" not in by_state
    shown(staff.get(CONTACTS, {"list": "x" * 30}))


def test_contact_with_a_suppressed_address_stays_suppressed_and_the_page_says_so(staff: Client) -> None:
    suppress("carl@example.org", Suppression.Reason.COMPLAINED)

    page = staff.post(
        f"{CONTACTS}add/",
        {"email": "Carl@Example.org", "name": "Carl", "attributes": "{}", **INLINE},
        follow=True,
    )

    assert "stays suppressed" in shown(page)
    assert Contact.objects.get(email="carl@example.org").status == "complained"


def test_contact_is_changed_but_not_its_permission(staff: Client) -> None:
    contact = ContactFactory.create(email="carl@example.org")

    shown(
        staff.post(
            f"{CONTACTS}{contact.pk}/change/",
            {
                "email": "carl@example.org",
                "name": "Karl\nMeier",
                "attributes": '{"city": "Kiel"}',
                "status": "complained",
                **INLINE,
            },
            follow=True,
        )
    )

    contact.refresh_from_db()
    assert (contact.name, contact.attributes, contact.status) == ("Karl Meier", {"city": "Kiel"}, "active")


def test_address_of_a_suppressed_contact_stays(staff: Client) -> None:
    contact = ContactFactory.create(email="carl@example.org")
    suppress(contact.email, Suppression.Reason.UNSUBSCRIBED)

    shown(
        staff.post(
            f"{CONTACTS}{contact.pk}/change/",
            {"email": "other@example.org", "name": "Carl", "attributes": "{}", **INLINE},
            follow=True,
        )
    )

    contact.refresh_from_db()
    assert (contact.email, contact.name, contact.status) == ("carl@example.org", "Carl", "unsubscribed")


@pytest.mark.parametrize(
    "attributes",
    ["[]", '{"_x": "1"}', '{"name": "x"}', '{"City": "x"}', '{"a": {}}', '{"a": "\\u0000"}', "{"],
)
def test_attributes_that_are_no_merge_tags_are_refused(staff: Client, attributes: str) -> None:
    page = staff.post(
        f"{CONTACTS}add/", {"email": "carl@example.org", "name": "", "attributes": attributes, **INLINE}
    )

    assert page.status_code == 200
    assert not Contact.objects.exists()


def many_selected(action: str, **more: str) -> dict[str, Any]:
    return {
        "action": action,
        "select_across": "1",
        "_selected_action": [str(pk) for pk in Contact.objects.values_list("pk", flat=True)[:100]],
        **more,
    }


@pytest.mark.slow
def test_twenty_thousand_selected_contacts_are_deleted_after_one_short_question(staff: Client) -> None:
    Contact.objects.bulk_create(Contact(email=f"load{n}@example.org") for n in range(20_000))
    news = ContactListFactory.create()
    Membership.objects.bulk_create(
        Membership(list=news, contact_id=pk) for pk in Contact.objects.values_list("pk", flat=True)
    )
    SuppressionFactory.create(address="load1@example.org")

    question = shown(staff.post(CONTACTS, many_selected("delete_selected")))
    assert "Delete 20,000 contacts?" in question
    assert "load19999@example.org" not in question
    assert Contact.objects.count() == 20_000

    shown(staff.post(CONTACTS, many_selected("delete_selected", confirmed="20000"), follow=True))

    assert not Contact.objects.exists()
    assert Suppression.objects.filter(lifted_at=None).count() == 1
    assert LogEntry.objects.get().change_message == "Deleted 20,000 contacts."


def test_selection_that_grew_after_the_question_is_asked_about_again(staff: Client) -> None:
    ContactFactory.create_batch(3)

    page = staff.post(CONTACTS, many_selected("delete_selected", confirmed="2"))

    assert "Delete 3 contacts?" in shown(page)
    assert Contact.objects.count() == 3


def test_ticked_contacts_alone_are_suppressed(staff: Client) -> None:
    first, second = ContactFactory.create_batch(2)
    post = {
        "action": "suppress",
        "select_across": "0",
        "_selected_action": [str(first.pk)],
        "confirmed": "1",
    }

    shown(staff.post(CONTACTS, post, follow=True))

    assert not Suppression.objects.filter(address=second.email).exists()
    standing = Suppression.objects.get(address=first.email)
    assert (standing.reason, standing.scope, standing.source) == ("manual", "marketing", "ida")


def test_lift_asks_why_and_leaves_a_trace(staff: Client) -> None:
    contact = ContactFactory.create(email="carl@example.org")
    suppress(contact.email, Suppression.Reason.COMPLAINED)
    page = f"{CONTACTS}{contact.pk}/lift/"

    assert "../lift/" in shown(staff.get(f"{CONTACTS}{contact.pk}/change/"))
    assert "called our mail spam" in shown(staff.get(page))
    shown(staff.post(page, {"reason": ""}))
    assert Suppression.objects.get().lifted_at is None

    shown(staff.post(page, {"reason": "asked for it by phone"}, follow=True))

    contact.refresh_from_db()
    assert contact.status == "active"
    assert Suppression.objects.get().lifted_by == "ida: asked for it by phone"
    assert "asked for it by phone" in LogEntry.objects.get().change_message


def test_suppression_is_made_by_hand_and_lifted(staff: Client) -> None:
    contact = ContactFactory.create(email="carl@example.org")
    post = {"address": "CARL@example.org", "scope": "all", "source": "asked by phone"}

    shown(staff.post("/admin/contacts/suppression/add/", post, follow=True))

    suppression = Suppression.objects.get()
    assert (suppression.reason, suppression.scope) == ("manual", "all")
    assert suppression.source == "ida: asked by phone"
    contact.refresh_from_db()
    assert contact.status == "unsubscribed"
    again = shown(staff.post("/admin/contacts/suppression/add/", post))
    assert "suppressed already" in again

    shown(
        staff.post(f"/admin/contacts/suppression/{suppression.pk}/lift/", {"reason": "mistake"}, follow=True)
    )

    contact.refresh_from_db()
    assert contact.status == "active"


def test_suppressions_are_neither_edited_nor_deleted(staff: Client) -> None:
    suppression = SuppressionFactory.create()

    staff.post(
        f"/admin/contacts/suppression/{suppression.pk}/change/", {"address": "x@example.org", "scope": "all"}
    )
    assert (
        staff.post(f"/admin/contacts/suppression/{suppression.pk}/delete/", {"post": "yes"}).status_code
        == 403
    )

    assert Suppression.objects.get().address == suppression.address


def upload(client: Client, content: bytes, **fields: str) -> Any:
    return client.post(IMPORT, {"file": SimpleUploadedFile("people.csv", content), **fields}, follow=True)


def test_upload_imports_and_shows_what_became_of_the_rows(staff: Client) -> None:
    page = shown(upload(staff, (FILES / "c07_rubbish.csv").read_bytes(), new_list="News"))

    assert "5 of 10 rows were not taken." in page
    assert "The row holds a zero byte." in page
    assert ContactList.objects.get(name="News").contacts.count() == 5
    kept = ContactImport.objects.get()
    assert kept.imported_by is not None
    assert kept.imported_by.username == "ida"


def test_upload_goes_to_a_list_that_is_chosen(staff: Client) -> None:
    news = ContactListFactory.create(name="News")

    shown(upload(staff, b"email\nida@example.org\n", list=str(news.pk)))

    assert news.contacts.count() == 1


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"name\nIda\n", b"\xff\xfe\x00", b"email,email\n"])
def test_upload_that_cannot_be_read_keeps_the_form_and_says_why(staff: Client, content: bytes) -> None:
    page = upload(staff, content, new_list="News")

    assert page.status_code == 400
    text = page.content.decode()
    assert 'role="alert"' in text
    assert 'value="News"' in text
    assert not ContactImport.objects.exists()


def test_refusals_are_shown_a_page_at_a_time(staff: Client) -> None:
    upload(staff, b"email\n" + b"nobody\n" * 250)
    address = f"/admin/contacts/contactimport/{ContactImport.objects.get().pk}/change/"

    assert shown(staff.get(address)).count("must have an @-sign") == 100
    assert shown(staff.get(address, {"p": "3"})).count("must have an @-sign") == 50
    shown(staff.get(address, {"p": "nonsense"}))


def test_rights_are_asked_on_the_server(client: Client) -> None:
    contact = ContactFactory.create(email="carl@example.org")
    suppress(contact.email, Suppression.Reason.UNSUBSCRIBED)
    reader = with_rights(client, "view_contact", "view_suppression", "view_contactimport", "change_contact")

    assert reader.get(IMPORT).status_code == 403
    assert upload(reader, b"email\nida@example.org\n").status_code == 403
    assert reader.post(f"{CONTACTS}{contact.pk}/lift/", {"reason": "x"}).status_code == 403
    suppression = Suppression.objects.get()
    assert (
        reader.post(f"/admin/contacts/suppression/{suppression.pk}/lift/", {"reason": "x"}).status_code == 403
    )
    assert reader.get("/admin/contacts/suppression/add/").status_code == 403
    for act in ("suppress", "delete_selected"):
        reader.post(CONTACTS, many_selected(act, confirmed="1"))

    contact.refresh_from_db()
    assert contact.status == "unsubscribed"
    assert Contact.objects.count() == 1
    assert "Import contacts" not in shown(reader.get(CONTACTS))


def test_nobody_comes_in_without_logging_in(client: Client) -> None:
    for page in (CONTACTS, IMPORT, f"{CONTACTS}1/lift/", "/admin/contacts/suppression/1/lift/"):
        assert client.get(page).status_code == 302


def test_deleting_a_list_with_many_members_asks_without_naming_them(staff: Client) -> None:
    member = MembershipFactory.create(contact__email="carl@example.org")
    page = f"/admin/contacts/contactlist/{member.list_id}/delete/"

    assert "carl@example.org" not in shown(staff.get(page))
    shown(staff.post(page, {"post": "yes"}, follow=True))

    assert not ContactList.objects.exists()
    assert Contact.objects.count() == 1
