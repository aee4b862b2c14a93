"""API tokens from the command line."""

import json

import pytest
from django.core.management import call_command

from mailkoenig.api.models import ApiToken
from mailkoenig.lib.command import UserError
from tests.mailkoenig.api.conftest import Caller

pytestmark = pytest.mark.django_db
Out = pytest.CaptureFixture[str]


def test_a_token_is_made_printed_once_listed_and_revoked(domain: object, capsys: Out) -> None:
    call_command("api_token", "create", "shop", "--stream", "receipts")
    secret = capsys.readouterr().out.strip()
    shop = Caller(secret)
    assert shop.post().status_code == 201

    call_command("api_token", "list", "--json")
    (listed,) = json.loads(capsys.readouterr().out)["tokens"]
    assert (listed["name"], listed["scope"]) == ("shop", "may read and write: receipts")
    assert secret not in str(listed)

    call_command("api_token", "revoke", "shop")
    assert shop("GET", "messages").status_code == 401


def test_a_token_for_the_emergency_stop_may_nothing_else(capsys: Out) -> None:
    call_command("api_token", "create", "watchman", "--emergency-stop")
    watchman = Caller(capsys.readouterr().out.strip())

    assert watchman("POST", "sending/stop", {"reason": "Leak"}).json()["stopped"] is True
    assert watchman("GET", "streams").json() == {"items": []}
    assert watchman.post().status_code == 403


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create"], "needs the name"),
        (["create", "shop"], "--stream"),
        (["create", "shop", "--stream", "recipts"], "choose from campaigns"),
        (["create", "shop", "--contacts", "--rate", "0"], "--rate"),
        (["revoke", "shop"], "No token named"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: list[str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        call_command("api_token", *arguments)
    assert not ApiToken.objects.exists()


def test_two_tokens_of_one_name_are_never_in_use() -> None:
    call_command("api_token", "create", "shop", "--contacts")
    with pytest.raises(UserError, match="in use"):
        call_command("api_token", "create", "shop", "--contacts")
    call_command("api_token", "revoke", "shop")
    call_command("api_token", "create", "shop", "--contacts")

    assert ApiToken.objects.filter(revoked_at=None).count() == 1
