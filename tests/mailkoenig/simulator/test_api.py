"""The rest of the provider's API: domains, lists, webhooks."""

from typing import Any

import pytest
import requests

from mailkoenig.simulator import Simulator
from tests.mailkoenig.simulator.calls import ACCOUNT, DOMAIN, read


def test_a_domain_is_active_with_valid_records(simulator: Simulator) -> None:
    found = read(simulator, f"/v4/domains/{DOMAIN}")

    assert (found["domain"]["name"], found["domain"]["state"]) == (DOMAIN, "active")
    assert {item["valid"] for item in found["sending_dns_records"] if item["record_type"] == "TXT"} == {
        "valid"
    }


@pytest.mark.parametrize(("state", "is_disabled"), [("active", False), ("disabled", True)])
def test_a_domains_queues_tell_whether_it_is_disabled(
    simulator: Simulator, state: str, is_disabled: bool
) -> None:
    body = {"name": DOMAIN, "state": state}
    requests.post(f"{simulator.url}/simulator/domains", json=body, timeout=5).raise_for_status()

    queues = read(simulator, f"/v3/domains/{DOMAIN}/sending_queues")
    assert queues["regular"]["is_disabled"] is is_disabled


def test_tracking_is_shown(simulator: Simulator) -> None:
    assert read(simulator, f"/v3/domains/{DOMAIN}/tracking")["tracking"]["unsubscribe"]["active"] is False


def test_a_wrong_key_gets_json_from_the_domains(simulator: Simulator) -> None:
    response = requests.get(f"{simulator.url}/v4/domains/{DOMAIN}", auth=("api", "wrong"), timeout=5)

    assert (response.status_code, response.json()) == (401, {"message": "Invalid private key"})


def test_lists_are_paged_in_order_to_an_empty_page(simulator: Simulator) -> None:
    url = f"{simulator.url}/v3/{DOMAIN}/bounces"
    rows = [{"address": f"p{n}@example.com", "code": "550"} for n in range(7)]
    requests.post(url, json=rows, auth=ACCOUNT, timeout=5).raise_for_status()
    found: list[dict[str, Any]] = []
    page = requests.get(url, params={"limit": 3}, auth=ACCOUNT, timeout=5).json()
    while page["items"]:
        found += page["items"]
        page = requests.get(page["paging"]["next"], auth=ACCOUNT, timeout=5).json()

    assert [item["address"] for item in found] == [row["address"] for row in rows]
    assert found[0]["created_at"].endswith("UTC")


def test_an_address_can_be_taken_from_a_list(simulator: Simulator) -> None:
    url = f"{simulator.url}/v3/{DOMAIN}/complaints"
    requests.post(url, data={"address": "Ada@example.com"}, auth=ACCOUNT, timeout=5).raise_for_status()

    assert requests.get(f"{url}/ada@example.com", auth=ACCOUNT, timeout=5).status_code == 200
    assert requests.delete(f"{url}/ada@example.com", auth=ACCOUNT, timeout=5).status_code == 200
    assert requests.get(f"{url}/ada@example.com", auth=ACCOUNT, timeout=5).status_code == 404


def test_one_address_registers_for_many_types(simulator: Simulator) -> None:
    url = f"{simulator.url}/v4/domains/{DOMAIN}/webhooks"
    hook = "http://127.0.0.1:9/hook"
    data = [("url", hook), ("event_types", "accepted"), ("event_types", "permanent_fail")]
    requests.post(url, data=data, auth=ACCOUNT, timeout=5).raise_for_status()

    listed = read(simulator, f"/v3/domains/{DOMAIN}/webhooks")["webhooks"]
    assert {kind for kind, urls in listed.items() if urls} == {"accepted", "permanent_fail"}
    requests.delete(url, data={"url": hook}, auth=ACCOUNT, timeout=5).raise_for_status()
    assert not any(read(simulator, f"/v3/domains/{DOMAIN}/webhooks")["webhooks"].values())
