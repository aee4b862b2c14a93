"""The provider's suppression lists over HTTP."""

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from mailkoenig.simulator.answers import message
from mailkoenig.simulator.forms import parse
from mailkoenig.simulator.http import Reply, Request, json_reply
from mailkoenig.simulator.suppressions import Suppressions

LARGEST_PAGE = 1_000
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "bounces": {"code": "550", "error": ""},
    "unsubscribes": {"tags": ["*"]},
    "complaints": {},
}


class Lists:
    """Reads and changes bounces, unsubscribes and complaints."""

    def __init__(self, suppressions: Suppressions) -> None:
        self._suppressions = suppressions

    def answer(self, request: Request, domain: str, kind: str, rest: list[str]) -> Reply:
        """Answer /v3/DOMAIN/KIND and /v3/DOMAIN/KIND/ADDRESS."""
        match request.method, rest:
            case "GET", []:
                return self.page(request, domain, kind)
            case "GET", [address]:
                for record in self._suppressions.listed(domain, kind):
                    if record["address"].lower() == address.lower():
                        return json_reply(shown(record))
                return message("Address not found in the table", 404)
            case "POST", []:
                return self.add(request, domain, kind)
            case "DELETE", [address]:
                if not self._suppressions.remove(domain, kind, address):
                    return message("Address not found in the table", 404)
                return json_reply({"message": "Address has been removed", "address": address})
            case "DELETE", []:
                self._suppressions.remove(domain, kind)
                return message(f"{kind.capitalize()} for this domain have been removed", 200)
        return message("Method not allowed", 405)

    def page(self, request: Request, domain: str, kind: str) -> Reply:
        """Return a page in the order of the addresses, with the links to the others."""
        text = request.get("limit", "100")
        limit = min(int(text), LARGEST_PAGE) if text.isdigit() and int(text) else 100
        found = self._suppressions.listed(domain, kind)
        if term := request.get("term").lower():
            found = [record for record in found if record["address"].lower().startswith(term)]
        pivot, way = request.get("address").lower(), request.get("page")
        if way == "next":
            found = [record for record in found if record["address"].lower() > pivot][:limit]
        elif way == "previous":
            found = [record for record in found if record["address"].lower() < pivot][-limit:]
        else:
            found = found[-limit:] if way == "last" else found[:limit]
        base = f"http://{request.host}/v3/{quote(domain)}/{kind}"
        first = found[0]["address"] if found else pivot
        last = found[-1]["address"] if found else pivot

        def link(**parameters: object) -> str:
            return f"{base}?{urlencode({**parameters, 'limit': limit})}"

        paging = {
            "first": link(),
            "next": link(page="next", address=last),
            "previous": link(page="previous", address=first),
            "last": link(page="last"),
        }
        return json_reply({"items": [shown(record) for record in found], "paging": paging})

    def add(self, request: Request, domain: str, kind: str) -> Reply:
        """Add one address from a form, or many from JSON."""
        kind_of_body = request.headers.get("Content-Type") or ""
        if "json" in kind_of_body:
            try:
                value = orjson.loads(request.read())
            except orjson.JSONDecodeError:
                return message("Invalid JSON", 400)
            records = value if isinstance(value, list) else [value]
        else:
            form = parse(kind_of_body, request.read())
            records = [{name: values[-1] for name, values in form.fields.items()}]
        if not all(isinstance(record, dict) and record.get("address") for record in records):
            return message("Missing mandatory parameter: address", 400)
        if len(records) > LARGEST_PAGE:
            return message(f"Batch size should be less than {LARGEST_PAGE}", 400)
        for record in records:
            given = {**DEFAULTS[kind], "created_at": time.time(), **record}
            if "tag" in given:
                given["tags"] = [given.pop("tag")]
            self._suppressions.add(domain, kind, given)
        return json_reply({"message": f"{len(records)} addresses have been added to the {kind} table"})


def shown(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record with its moment as the provider writes it."""
    moment = record["created_at"]
    if isinstance(moment, int | float):
        text = time.strftime("%a, %d %b %Y %H:%M:%S UTC", time.gmtime(moment))
        return {**record, "created_at": text}
    return record
