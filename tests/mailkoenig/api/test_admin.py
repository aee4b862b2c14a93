"""API tokens in the admin."""

import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.test import Client

from campaigns.models import Stream
from mailkoenig import roles
from mailkoenig.api.models import ApiToken
from tests.factories import UserFactory
from tests.mailkoenig.api.conftest import Caller, caller

pytestmark = pytest.mark.django_db
LIST = "/admin/api/apitoken/"


def ask(client: Client, **changes: Any) -> Any:
    """Fill in the form for a new token."""
    stream = Stream.objects.get(name="receipts").pk
    form = {"name": "shop", "streams": [stream], "can_read": "on", "can_write": "on", "rate_per_minute": 600}
    return client.post(f"{LIST}add/", {**form, **changes})


def test_a_token_is_shown_once_and_works(admin_client: Client, domain: object) -> None:
    page = ask(admin_client)

    (secret,) = re.findall(r'value="(mk_[\w-]+)"', page.content.decode())
    token = ApiToken.objects.get()
    assert "no-store" in page.headers["Cache-Control"]
    assert Caller(secret).post().status_code == 201
    assert token.created_by
    for address in (LIST, f"{LIST}{token.pk}/change/", f"{LIST}{token.pk}/history/", "/admin/"):
        assert secret not in admin_client.get(address).content.decode()
    trail = LogEntry.objects.values_list("user__username", "change_message")
    assert list(trail) == [("admin", "Created: may read and write: receipts.")]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": " "}, "name"),
        ({"streams": []}, "streams"),
        ({"can_read": "", "can_write": ""}, "can_read"),
        ({"rate_per_minute": 0}, "rate_per_minute"),
    ],
)
def test_a_token_for_nothing_is_not_made(admin_client: Client, change: dict[str, Any], field: str) -> None:
    page = ask(admin_client, **change)

    assert field in page.context["adminform"].form.errors
    assert not ApiToken.objects.exists()


def test_the_same_form_sent_again_makes_no_second_token(admin_client: Client) -> None:
    ask(admin_client)
    again = ask(admin_client)

    assert "in use" in again.content.decode()
    assert ApiToken.objects.count() == 1


def test_it_is_revoked_with_a_reason_and_a_trace(admin_client: Client) -> None:
    shop = caller("receipts")
    lever = f"{LIST}{ApiToken.objects.get().pk}/revoke/"
    asked = admin_client.get(lever).content.decode()
    assert "Refuse the token shop0" in asked
    assert "kept in the audit trail" in asked
    assert "mail waits" not in asked
    assert shop("GET", "messages").status_code == 200

    admin_client.post(lever, {"reason": "It was in a public repository."})

    assert shop("GET", "messages").status_code == 401
    assert LogEntry.objects.order_by("-id")[0].change_message == "Revoked: It was in a public repository."
    assert "Revoked" in admin_client.get(LIST).content.decode()


def test_of_a_new_token_from_the_command_line_the_page_says_so(admin_client: Client) -> None:
    caller("receipts")
    shown = admin_client.get(f"{LIST}{ApiToken.objects.get().pk}/change/").content.decode()

    assert "somebody on the command line" in shown
    assert "never" in shown


def test_nothing_of_a_token_is_changed_or_deleted(admin_client: Client) -> None:
    caller("receipts")
    token = ApiToken.objects.get()
    admin_client.post(f"{LIST}{token.pk}/change/", {"name": "other", "all_streams": "on"})
    admin_client.post(f"{LIST}{token.pk}/delete/", {"post": "yes"})

    token.refresh_from_db()
    assert (token.name, token.all_streams) == ("shop0", False)


def test_an_operator_revokes_and_makes_none_and_a_writer_sees_none() -> None:
    roles.ensure(apps)
    caller("receipts")
    answers = {}
    for role in ("Operator", "Writer"):
        user = UserFactory.create()
        user.groups.add(Group.objects.get(name=role))
        client = Client()
        client.force_login(user)
        revoke = f"{LIST}{ApiToken.objects.get().pk}/revoke/"
        answers[role] = [client.get(address).status_code for address in (LIST, f"{LIST}add/", revoke)]

    assert answers == {"Operator": [200, 403, 200], "Writer": [403, 403, 403]}


def test_the_list_says_where_to_begin(admin_client: Client) -> None:
    assert "No API tokens" in admin_client.get(LIST).content.decode()
