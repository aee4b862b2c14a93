"""Who comes in, how often, with how much; and how refusals look."""

import json
import logging
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client
from pytest_django import Settings

from campaigns.models import Message
from mailkoenig.api import services
from mailkoenig.api.models import ApiToken
from tests.mailkoenig.api.conftest import RECEIPT, Caller, caller, make_token

pytestmark = pytest.mark.django_db


def is_problem(answer: Any, status: int) -> bool:
    """Say whether an answer is a whole problem document."""
    document = answer.json()
    return (
        answer.status_code == document["status"] == status
        and answer.headers["Content-Type"] == "application/problem+json"
        and document.keys() >= {"type", "title", "detail", "errors"}
        and bool(document["title"])
        and bool(document["detail"])
    )


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic abc", "Bearer mk_wrong", "Bearer nothing", "Bearer ü"]
)
def test_nobody_comes_in_without_a_token(header: str) -> None:
    answer = Client(headers={"authorization": header}).get("/api/v1/messages")

    assert is_problem(answer, 401)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer realm=")


def test_a_revoked_token_is_refused_at_once(shop: Caller) -> None:
    assert shop("GET", "messages").status_code == 200
    token = ApiToken.objects.get()

    assert services.revoke_token(token, reason="Lost.", by="ada")
    assert not services.revoke_token(token, reason="Lost.", by="ada")
    assert is_problem(shop("GET", "messages"), 401)


def test_a_session_is_no_token(admin_client: Client) -> None:
    assert is_problem(admin_client.get("/api/v1/messages"), 401)


def test_only_a_hash_is_kept() -> None:
    secret = make_token()

    kept = ApiToken.objects.values().get()
    assert secret not in json.dumps(kept, default=str)
    assert secret.startswith(kept["visible"])
    assert len(secret) >= 40


def test_reading_and_writing_are_apart(domain: object) -> None:
    reader, writer = caller("receipts", can_write=False), caller("receipts", can_read=False)

    assert is_problem(reader.post(), 403)
    assert writer.post().status_code == 201
    assert is_problem(writer("GET", "messages"), 403)
    assert reader("GET", "messages").status_code == 200


def test_a_rate_holds_and_says_for_how_long(domain: object) -> None:
    busy, other = caller("receipts", rate_per_minute=2), caller("receipts")
    answers = [busy("GET", "messages") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert is_problem(answers[2], 429)
    assert 1 <= int(answers[2].headers["Retry-After"]) <= 60
    assert other("GET", "messages").status_code == 200
    ApiToken.objects.update(minute_began_at=Now() - timedelta(minutes=1))
    assert busy("GET", "messages").status_code == 200


def test_last_used_is_noted_once_a_minute(shop: Caller) -> None:
    shop("GET", "messages")
    first = ApiToken.objects.get().last_used_at
    shop("GET", "messages")

    assert first
    assert ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=Now() - timedelta(minutes=2))
    shop("GET", "messages")
    assert (ApiToken.objects.get().last_used_at or first) > first


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"", 422),
        (b"\xff{}", 400),
        (b'{"a": NaN}', 400),
        (b"[" * 100_000, 400),
        (b'{"a": ' + b"9" * 10_000 + b"}", 400),
        (b"[]", 422),
        (b'"x"', 422),
        (b"null", 422),
        (b'{"\\u0000": 1}', 422),
        (b'{"stream": "\\ud800"}', 422),
        (b'{"variables": ' + b'{"a":' * 70 + b"1" + b"}" * 70 + b"}", 422),
    ],
)
def test_a_body_that_is_no_message_is_a_problem(shop: Caller, body: bytes, status: int) -> None:
    assert is_problem(shop("POST", "messages", body), status)


def test_a_body_must_be_json_and_not_too_large(shop: Caller, settings: Settings) -> None:
    form = shop.client.post("/api/v1/messages", {"stream": "receipts"})
    settings.API_MAX_BYTES = 1000
    large = shop.post(text="x" * 1000)

    assert is_problem(form, 415)
    assert is_problem(large, 413)
    assert not Message.objects.exists()


def test_large_attachments_come_in_and_other_bodies_stay_small(domain: object) -> None:
    anything = caller("receipts", holds_contacts=True)
    file = {"name": "a.bin", "content": "A" * 8_000_000}

    assert anything.post(attachments=[file]).status_code == 201
    large = anything("PUT", "contacts/a@example.com", {"name": "x" * 1_100_000})
    assert is_problem(large, 413)


def test_what_is_not_there_and_what_is_not_possible_are_problems(shop: Caller) -> None:
    missing = [shop("GET", path) for path in ("", "nothing", "messages/", "messages/x", "lists/1/members")]
    wrong = shop("DELETE", "messages")

    assert all(is_problem(answer, 404) for answer in missing)
    assert is_problem(wrong, 405)
    assert set(wrong.headers["Allow"].split(", ")) == {"GET", "POST"}
    assert is_problem(Client().get("/api/v2/messages"), 404)


def test_no_secret_and_no_address_is_logged(
    domain: object, caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    settings.DEBUG = True
    secret = make_token(streams=("receipts",))
    with caplog.at_level(logging.DEBUG):
        for scheme in ("Bearer", "Token", "Basic"):
            someone = Client(headers={"authorization": f"{scheme} {secret}"})
            someone.post("/api/v1/messages", {**RECEIPT, "to": "nobody"}, content_type="application/json")
            someone.get("/api/v1/messages?to=x")

    lines = [record.getMessage() for record in caplog.records if record.name != "django.db.backends"]
    assert secret not in "\n".join(lines)


def test_answers_are_kept_by_no_cache(shop: Caller) -> None:
    assert shop.post().headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "known"),
    [("messages?recipient=a@example.com", "stream, status, to"), ("streams?name=x", "none")],
)
def test_a_misspelt_parameter_is_refused_rather_than_passed_over(shop: Caller, path: str, known: str) -> None:
    refused = shop("GET", path)

    assert is_problem(refused, 422)
    assert refused.json()["errors"] == [
        {"field": path.partition("?")[2].partition("=")[0], "message": "There is no such parameter."}
    ]
    assert known in refused.json()["detail"]
