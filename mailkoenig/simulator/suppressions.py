"""The provider's own lists of addresses that it does not mail, one set a domain."""

import threading
from collections.abc import Sequence
from typing import Any

KINDS = ("bounces", "unsubscribes", "complaints")


class Suppressions:
    """Bounces, unsubscribes and complaints by domain."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}

    def add(self, domain: str, kind: str, record: dict[str, Any]) -> None:
        """Put an address on a list, or change what the list says of it."""
        with self._lock:
            self._records.setdefault((domain, kind), {})[record["address"].lower()] = record

    def remove(self, domain: str, kind: str, address: str | None = None) -> int:
        """Take an address, or all of them, from a list; return how many."""
        with self._lock:
            records = self._records.get((domain, kind), {})
            gone = [address.lower()] if address is not None else list(records)
            return sum(records.pop(key, None) is not None for key in gone)

    def listed(self, domain: str, kind: str) -> list[dict[str, Any]]:
        """Return a list in the order of its addresses."""
        with self._lock:
            return [record for _, record in sorted(self._records.get((domain, kind), {}).items())]

    def among(self, domain: str, addresses: Sequence[str]) -> dict[str, str]:
        """Return which of these addresses are on a list, and on which."""
        if not self._records:
            return {}
        with self._lock:
            lists = {kind: self._records.get((domain, kind), {}) for kind in KINDS}
            return {
                address: kind
                for address in addresses
                for kind, records in lists.items()
                if address.lower() in records
            }

    def clear(self) -> None:
        """Forget every list."""
        with self._lock:
            self._records.clear()
