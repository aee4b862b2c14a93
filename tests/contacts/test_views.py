import re
from itertools import product

import pytest
from django.http import HttpResponse
from django.test import Client

from contacts import services
from contacts.models import Contact, Suppression
from contacts.states import default_scope
from tests.factories import ContactFactory

pytestmark = pytest.mark.django_db

Reason = Suppression.Reason


@pytest.fixture
def strict() -> Client:
    """A client that is refused wherever a browser without a CSRF token would be."""
    return Client(enforce_csrf_checks=True)


def link(contact: Contact, *, slash: str = "/") -> str:
    return f"/unsubscribe/{contact.unsubscribe_token}{slash}"


def press(client: Client, contact: Contact, button: str) -> HttpResponse:
    """Post the form as a browser does."""
    return client.post(link(contact), f"do={button}", content_type="application/x-www-form-urlencoded")  # type: ignore[return-value]  # the test client's own subclass


def state(contact: Contact) -> str:
    return Contact.objects.get(pk=contact.pk).status


@pytest.mark.parametrize(("method", "slash"), [*product(["get", "head", "options"], ["", "/"])])
def test_opening_the_link_changes_nothing(strict: Client, method: str, slash: str) -> None:
    contact = ContactFactory.create()

    for _ in range(5):
        response = getattr(strict, method)(link(contact, slash=slash))
        assert response.status_code == 200

    assert state(contact) == "active"
    assert not Suppression.objects.exists()


def test_the_button_unsubscribes_once_and_a_second_visit_says_so(strict: Client) -> None:
    contact = ContactFactory.create(email="carl@example.org")

    asked = strict.get(link(contact)).content.decode()
    done = press(strict, contact, "unsubscribe")
    again = strict.get(link(contact))

    assert "Do you want to leave?" in asked
    assert "carl@example.org" in asked
    for response in (done, again):
        assert response.status_code == 200
        assert "You are unsubscribed" in response.content.decode()
    assert state(contact) == "unsubscribed"
    assert Suppression.objects.get().reason == "unsubscribed"


ONE_CLICK = [
    (b"List-Unsubscribe=One-Click", "application/x-www-form-urlencoded"),
    (
        b'--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n',
        "multipart/form-data; boundary=b",
    ),
    (b"", "application/x-www-form-urlencoded"),
    (b"", ""),
    (b"--nonsense", "multipart/form-data"),
    (b"\xff\x00&&&=", "application/x-www-form-urlencoded"),
    (b"a=1&" * 3000, "application/x-www-form-urlencoded"),
    (b"{", "application/json"),
    (b"List-Unsubscribe=One-Click&do=resubscribe", "application/x-www-form-urlencoded"),
]


@pytest.mark.parametrize(("body", "content_type"), ONE_CLICK)
@pytest.mark.parametrize("slash", ["", "/"])
def test_one_click_works_whatever_the_mail_program_posts(
    strict: Client, body: bytes, content_type: str, slash: str
) -> None:
    contact = ContactFactory.create()
    foreign = {"HTTP_ORIGIN": "https://webmail.example.net", "HTTP_REFERER": "https://webmail.example.net/x"}

    for _ in range(2):
        response = strict.generic("POST", link(contact, slash=slash), body, content_type, **foreign)  # type: ignore[arg-type]  # extra WSGI variables
        assert response.status_code == 200
        assert not response.cookies

    assert state(contact) == "unsubscribed"
    assert Suppression.objects.count() == 1


def test_resubscribe_takes_back_the_persons_own_act(strict: Client) -> None:
    contact = ContactFactory.create()
    page = strict.post(link(contact)).content.decode()
    assert 'value="resubscribe"' in page

    response = press(strict, contact, "resubscribe")

    assert "You are subscribed again" in response.content.decode()
    assert state(contact) == "active"
    assert Suppression.objects.get().lifted_by == "the person, on the unsubscribe page"


@pytest.mark.parametrize("reason", [Reason.BOUNCED, Reason.COMPLAINED, Reason.MANUAL])
def test_page_lifts_nothing_that_is_not_the_persons_own(strict: Client, reason: Suppression.Reason) -> None:
    contact = ContactFactory.create()
    services.suppress(address=contact.email, reason=reason, scope=default_scope(reason), source="test")
    before = state(contact)

    press(strict, contact, "unsubscribe")
    response = press(strict, contact, "resubscribe")

    assert response.status_code == 200
    assert 'value="resubscribe"' not in response.content.decode()
    assert state(contact) == before


@pytest.mark.parametrize("token", ["nobody", "x" * 500, "%00", "%F0%9F%98%80", "a%0Db", "..", "<script>"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_unknown_token_reveals_nothing(strict: Client, method: str, token: str) -> None:
    contact = ContactFactory.create(email="carl@example.org")

    response = getattr(strict, method)(f"/unsubscribe/{token}/")

    assert response.status_code == 404
    assert "example.org" not in response.content.decode()
    assert state(contact) == "active"


def test_page_keeps_the_link_to_itself(strict: Client) -> None:
    contact = ContactFactory.create()

    response = strict.get(link(contact))
    body = response.content.decode()

    assert "no-store" in response["Cache-Control"]
    assert "noindex" in response["X-Robots-Tag"]
    assert response["Referrer-Policy"] == "no-referrer"
    assert response["X-Frame-Options"] == "DENY"
    assert not response.cookies
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    nonce = re.search(r"'nonce-([^']+)'", policy)
    assert nonce is not None
    assert f'<style nonce="{nonce[1]}">' in body
    assert "<script" not in body
    assert "style=" not in body
    assert contact.unsubscribe_token not in body


def test_other_methods_are_refused(strict: Client) -> None:
    contact = ContactFactory.create()

    assert strict.delete(link(contact)).status_code == 405
    assert strict.put(link(contact)).status_code == 405
    assert state(contact) == "active"
