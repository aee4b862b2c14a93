"""Scripted faults, as a client meets them."""

import socket
import time
from typing import Any

import pytest
import requests

from mailkoenig.simulator import BadFault, Fault, Simulator
from tests.mailkoenig.simulator.calls import ACCOUNT, DOMAIN, batch, events, message, send


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        (Fault("rate_limit"), 420, "recipient limit exceeded, try again after"),
        (Fault("rate_limit", status=429, hint="seconds-text", seconds=120), 429, "after 120 seconds"),
        (Fault("rate_limit", status=429, hint="account-text"), 429, "account-requests-per-sec limit"),
        (Fault("bad_address", address="ada@example.com"), 400, "to parameter is not a valid address. please"),
        (Fault("bad_address", address="ada@example.com", naming=True), 400, "'ada@example.com'"),
        (Fault("unverified"), 400, "The domain is unverified"),
        (Fault("payment"), 402, "Request Failed"),
        (Fault("terminated"), 403, "Account Terminated"),
        (Fault("not_found"), 404, "Domain not found"),
        (Fault("too_large"), 413, "request size exceeds"),
        (Fault("error", status=503), 503, "Internal Server Error"),
        (Fault("answer", status=418, body={"message": "tea"}), 418, "tea"),
    ],
)
def test_a_refusal_takes_nothing(simulator: Simulator, fault: Fault, status: int, words: str) -> None:
    simulator.fault(fault)

    refused = send(simulator)

    assert refused.status_code == status
    assert words in message(refused)
    assert simulator.accepted == 0
    assert send(simulator).status_code == 200


@pytest.mark.parametrize(
    ("hint", "values"),
    [
        ("retry-after", ["90"]),
        ("retry-after-garbage", ["120junk"]),
        ("retry-after-several", ["1", "90"]),
    ],
)
def test_the_wait_is_told_in_headers(simulator: Simulator, hint: str, values: list[str]) -> None:
    simulator.fault(Fault("rate_limit", status=429, hint=hint, seconds=90))

    response = send(simulator)

    assert response.raw.headers.getlist("Retry-After") == values


def test_the_wait_is_told_as_a_date_and_as_json(simulator: Simulator) -> None:
    simulator.faults = [
        Fault("rate_limit", hint="retry-after-date"),
        Fault("rate_limit", hint="retry-seconds", seconds=60),
        Fault("answer", status=429, headers=[("Retry-After", "-5")]),
    ]

    assert send(simulator).headers["Retry-After"].endswith("GMT")
    assert send(simulator).json()["retry-seconds"] == 60
    assert send(simulator).headers["Retry-After"] == "-5"


@pytest.mark.parametrize(("action", "status"), [("probation", 400), ("large_batches", 403)])
def test_large_batches_are_refused_and_small_ones_taken(
    simulator: Simulator, action: str, status: int
) -> None:
    simulator.fault(Fault(action, times=None))

    assert batch(simulator, 11).status_code == status
    assert batch(simulator, 10).status_code == 200


def test_an_error_after_acceptance_has_accepted(simulator: Simulator) -> None:
    simulator.fault(Fault("error", accept=True))

    assert send(simulator).status_code == 500
    assert simulator.accepted == 1
    assert (simulator.calls[0].accepted, simulator.calls[0].status) == (True, 500)


@pytest.mark.parametrize(("accept", "accepted"), [(False, 0), (True, 1)])
@pytest.mark.parametrize("action", ["hang", "drop", "cut"])
def test_no_whole_answer_before_or_after_acceptance(
    simulator: Simulator, action: str, accept: bool, accepted: int
) -> None:
    simulator.fault(Fault(action, accept=accept))

    with pytest.raises(requests.RequestException):
        send_briefly(simulator)
    assert simulator.accepted == accepted


@pytest.mark.parametrize("part", ["body", "headers"])
def test_a_drip_never_ends_though_each_byte_is_in_time(simulator: Simulator, part: str) -> None:
    simulator.fault(Fault("drip", part=part, seconds=0.02, accept=True))
    with socket.create_connection(("127.0.0.1", simulator.port)) as client:
        client.settimeout(5)
        body = "from=a@example.com&to=b@example.com&text=x"
        client.sendall(
            f"POST /v3/{DOMAIN}/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YXBpOmtleS1zZW5kaW5n\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        pieces = [client.recv(4096) for _ in range(6)]

    assert all(pieces)
    assert (b"\r\n\r\n" in b"".join(pieces)) is (part == "body")


def test_answers_that_are_200_and_no_success(simulator: Simulator) -> None:
    simulator.faults = [Fault("html"), Fault("magnificent"), Fault("truncated", accept=True)]

    answers = [send(simulator) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert "<html>" in answers[0].text
    assert answers[1].text == "Mailgun Magnificent API"
    with pytest.raises(requests.JSONDecodeError):
        answers[2].json()
    assert simulator.accepted == 1


def test_a_page_from_the_gateway_and_a_redirect(simulator: Simulator) -> None:
    simulator.faults = [Fault("html", status=502), Fault("redirect", location="http://127.0.0.1/")]

    assert send(simulator).status_code == 502
    assert send(simulator).headers["Location"] == "http://127.0.0.1/"


def test_latency_delays_and_changes_nothing_else(simulator: Simulator) -> None:
    simulator.faults = [Fault("latency", seconds=[0.15, 0.2]), Fault("unauthorized")]
    begin = time.monotonic()

    assert send(simulator).status_code == 401
    assert time.monotonic() - begin >= 0.15
    assert send(simulator).status_code == 200


def test_rules_are_played_in_order_after_and_as_often_as_asked(simulator: Simulator) -> None:
    simulator.faults = [Fault("payment", times=2, after=1), Fault("drop", after=1), Fault("not_found")]

    statuses = []
    for _ in range(5):
        try:
            statuses.append(send(simulator).status_code)
        except requests.ConnectionError:
            statuses.append(0)

    assert sorted(statuses) == [0, 200, 402, 402, 404]
    assert simulator.faults == []


def test_an_early_drop_waits_for_the_rules_before_it(simulator: Simulator) -> None:
    simulator.faults = [Fault("payment"), Fault("drop")]

    assert send(simulator).status_code == 402
    with pytest.raises(requests.ConnectionError):
        send(simulator)
    assert simulator.accepted == 0


@pytest.mark.parametrize(
    "only",
    [{"address": "BOB@example.com"}, {"tag": "b"}, {"recipients_over": 1}],
)
def test_a_rule_can_be_narrowed(simulator: Simulator, only: dict[str, Any]) -> None:
    simulator.fault(Fault("error", only=only))

    assert send(simulator, **{"o:tag": "a"}).status_code == 200
    assert send(simulator, ["ada@example.com", "bob@example.com"], **{"o:tag": "b"}).status_code == 500


def test_the_events_api_can_be_down_closed_or_blind(simulator: Simulator) -> None:
    send(simulator)
    simulator.faults = [
        Fault("error", on="events", status=503),
        Fault("unauthorized", on="events"),
        Fault("empty", on="events"),
    ]
    url = f"{simulator.url}/v3/{DOMAIN}/events"

    assert requests.get(url, auth=ACCOUNT, timeout=5).status_code == 503
    assert requests.get(url, auth=ACCOUNT, timeout=5).status_code == 401
    assert events(simulator, event="accepted") == []
    assert len(events(simulator, event="accepted")) == 1


def test_a_script_comes_as_json_while_running(simulator: Simulator) -> None:
    url = f"{simulator.url}/simulator/faults"

    assert requests.post(url, json=[{"action": "error", "times": None}], timeout=5).status_code == 200
    assert send(simulator).status_code == 500
    assert requests.post(url, json=[], timeout=5).json() == []
    assert send(simulator).status_code == 200


@pytest.mark.parametrize(
    "value",
    [{"action": "explode"}, {"action": "error", "tmes": 1}, {"action": "error", "only": {"x": 1}}, 7],
)
def test_a_fault_that_cannot_be_played_is_refused_by_name(simulator: Simulator, value: object) -> None:
    response = requests.post(f"{simulator.url}/simulator/faults", json=value, timeout=5)

    assert response.status_code == 400
    with pytest.raises(BadFault):
        Fault.read(value)


def test_stopping_ends_a_hanging_call_at_once() -> None:
    with Simulator(faults=[Fault("hang")]) as simulator:
        with pytest.raises(requests.Timeout):
            send_briefly(simulator)
        begin = time.monotonic()
    assert time.monotonic() - begin < 2


def send_briefly(simulator: Simulator) -> None:
    """Make a call with little patience."""
    requests.post(
        f"{simulator.url}/v3/{DOMAIN}/messages",
        data={"from": "a@example.com", "to": "b@example.com", "text": "x"},
        auth=("api", "key-sending"),
        timeout=0.5,
    )
