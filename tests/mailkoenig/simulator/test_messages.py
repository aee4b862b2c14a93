"""The messages endpoint, over real HTTP."""

import json
from typing import Any

import pytest
import requests

from mailkoenig.simulator import Simulator
from tests.mailkoenig.simulator.calls import DOMAIN, SENDING, batch, fields, message, post, send


def test_a_message_is_queued_under_an_id_of_the_domain(simulator: Simulator) -> None:
    answer = send(simulator).json()

    assert answer["message"] == "Queued. Thank you."
    assert answer["id"].startswith("<") and answer["id"].endswith(f"@{DOMAIN}>")
    assert simulator.accepted_addresses() == ["ada@example.com"]


def test_a_well_formed_message_id_of_our_own_is_kept(simulator: Simulator) -> None:
    own = f"<0b5f7c1e@{DOMAIN}>"

    assert send(simulator, **{"h:Message-Id": own}).json()["id"] == own
    assert send(simulator, **{"h:Message-Id": "no brackets@x"}).json()["id"] != "no brackets@x"


@pytest.mark.parametrize("auth", [("api", "wrong"), ("user", "key-sending"), ("api", ""), None])
def test_a_wrong_key_gets_the_bare_word_forbidden(simulator: Simulator, auth: Any) -> None:
    response = post(simulator, fields(), auth=auth)

    assert (response.status_code, response.text) == (401, "Forbidden")
    assert [call.status for call in simulator.calls] == [401]
    assert simulator.accepted == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"from": None}, "from parameter is missing"),
        ({"to": ""}, "to parameter is missing"),
        ({"text": None}, "Need at least one of 'text' or 'html'"),
        ({"html": "<p>", "template": "t"}, "Only one parameters 'html' or 'template'"),
        ({"to": "nobody"}, "to parameter is not a valid address"),
        ({"to": ["ada@example.com", "bob@@example.com"]}, "to parameter is not a valid address"),
        ({"to": "ada..b@example.com"}, "to parameter is not a valid address"),
        ({"from": "news@mg"}, "from parameter is not a valid address"),
        ({"cc": "x y@example.com"}, "cc parameter is not a valid address"),
        ({"to": [f"p{n}@example.com" for n in range(1001)]}, "Too many recipients, max is 1000"),
        ({"h:X-Ä": "1"}, "Header name must be pure ASCII"),
        ({"v:big": "x" * 16_400}, "limited to 16 kB"),
        ({"o:deliverytime": "tomorrow"}, "not an RFC-2822 compliant date"),
        ({"recipient-variables": "{"}, "'recipient-variables' parameter is not a valid JSON"),
        ({"recipient-variables": "[]"}, "'recipient-variables' parameter is not a valid JSON"),
    ],
)
def test_what_the_provider_refuses_with_400(simulator: Simulator, more: dict[str, Any], words: str) -> None:
    response = send(simulator, **more)

    assert response.status_code == 400
    assert words in message(response)
    assert simulator.accepted == 0


def test_a_message_over_25_mb_and_a_request_over_52_mib_get_413(simulator: Simulator) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    start = b"from=a@example.com&to=b@example.com&text="
    too_big = post(simulator, start + b"x" * (26 << 20), headers=form)
    far_too_big = post(simulator, start + b"x" * (53 << 20), headers=form)

    assert (too_big.status_code, far_too_big.status_code) == (413, 413)
    assert message(far_too_big) == "request size exceeds 52.4MiB limit"


def test_mime_is_refused_in_words(simulator: Simulator) -> None:
    url = f"{simulator.url}/v3/{DOMAIN}/messages.mime"
    response = requests.post(url, files={"message": ("m", b"x")}, auth=SENDING, timeout=10)

    assert response.status_code == 400
    assert "use /messages" in message(response)


def test_a_domain_of_somebody_else_is_not_found() -> None:
    with Simulator(domains=["other.example.com"]) as simulator:
        response = send(simulator)

    assert (response.status_code, message(response)) == (404, f"Domain not found: {DOMAIN}")


def test_an_unverified_domain_may_not_send(simulator: Simulator) -> None:
    simulator.domain_states[DOMAIN] = "unverified"

    assert "The domain is unverified" in message(send(simulator))


def test_a_wrong_path_answers_200_and_means_nothing(simulator: Simulator) -> None:
    response = requests.post(f"{simulator.url}/v2/{DOMAIN}/messages", data=fields(), auth=SENDING, timeout=10)

    assert (response.status_code, response.text) == (200, "Mailgun Magnificent API")


def test_repeated_and_comma_separated_recipients_are_the_same(simulator: Simulator) -> None:
    people = ["ada@example.com", "bob+tag@example.com", "o'neil@example.org"]
    send(simulator, people)
    send(simulator, ", ".join(people))
    send(simulator, f'"Lovelace, Ada" <{people[0]}>,{people[1]}, Neil <{people[2]}>')

    assert simulator.accepted_addresses() == people * 3


def test_multipart_says_the_same_as_urlencoded(simulator: Simulator) -> None:
    data = fields(
        ["ada@example.com", "bob@example.com"], {"ada@example.com": {"x": "1 + ü % =&"}}, html="%recipient.x%"
    )
    post(simulator, data)
    post(simulator, [], files=[(name, (None, value)) for name, value in data])

    first, second = simulator.messages
    content = simulator.store.content
    assert content(first) == content(second)
    assert simulator.copies("ada@example.com")[1].html == "1 + ü % =&"


def test_files_are_counted_and_one_without_a_name_is_dropped(simulator: Simulator) -> None:
    files = [("attachment", ("bill.pdf", b"123")), ("attachment", (None, b"lost"))]
    post(simulator, fields(), files=files)

    assert simulator.copies()[0].attachments == ["bill.pdf"]


def test_a_repeated_address_in_one_call_gets_one_copy(simulator: Simulator) -> None:
    send(simulator, ["ada@example.com", "Ada@Example.com", "ada@example.com"])

    assert simulator.accepted_addresses() == ["ada@example.com"]


def test_without_recipient_variables_everybody_sees_everybody(simulator: Simulator) -> None:
    send(simulator, ["ada@example.com", "bob@example.com"])

    assert {copy.to for copy in simulator.copies()} == {"ada@example.com, bob@example.com"}


def test_with_recipient_variables_everybody_sees_themselves(simulator: Simulator) -> None:
    batch(simulator, 3, subject="Hi %recipient.name%")

    assert [(copy.to, copy.subject) for copy in simulator.copies()] == [
        (f"person{n}@example.com", f"Hi Person {n}") for n in range(3)
    ]


def test_who_is_missing_in_the_variables_gets_the_raw_tags(simulator: Simulator) -> None:
    send(
        simulator,
        ["ada@example.com", "bob@example.com"],
        {"ada@example.com": {"x": "1"}},
        text="%recipient.x%",
    )

    assert [copy.text for copy in simulator.copies()] == ["1", "%recipient.x%"]


def test_variables_over_the_limit_are_lost_without_a_word() -> None:
    with Simulator(largest_variables=100) as simulator:
        send(simulator, "ada@example.com", {"ada@example.com": {"x": "y" * 101}}, text="%recipient.x%")

        assert simulator.copies()[0].text == "%recipient.x%"


def test_a_call_in_the_script_of_acceptance_is_known_before_its_answer() -> None:
    seen = []
    with Simulator(on_accept=lambda accepted: seen.append(accepted.recipients)) as simulator:
        batch(simulator, 2)

        assert seen == [2]


def test_the_same_mail_to_the_same_person_is_a_duplicate(simulator: Simulator) -> None:
    batch(simulator, 2)
    batch(simulator, 3)
    send(simulator, "person0@example.com", v_rid="77")

    found = {(item.address, tuple(item.messages)) for item in simulator.duplicates()}
    assert found == {("person0@example.com", (1, 2)), ("person1@example.com", (1, 2))}
    assert len(simulator.duplicates(by="address")) == 2


def test_the_memory_of_a_call_does_not_grow_with_its_recipients(simulator: Simulator) -> None:
    batch(simulator, 1000)

    record = simulator.messages[0]
    assert not any(isinstance(getattr(record, name), list | dict) for name in record.__slots__)


def test_bodies_can_be_left_out_but_variables_stay() -> None:
    with Simulator(keep_bodies=False) as simulator:
        batch(simulator, 1)

        copy = simulator.copies()[0]
        assert (copy.text, copy.variables) == ("", {"rid": "0"})


def test_json_answers_are_what_a_client_expects(simulator: Simulator) -> None:
    response = send(simulator)

    assert response.headers["Content-Type"] == "application/json"
    assert json.loads(response.text) == response.json()
