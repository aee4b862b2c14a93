"""The provider's own merging: %recipient.NAME%, once, unescaped, and literal where the name is unknown."""

import re
from collections.abc import Mapping

import orjson

VARIABLE = re.compile(r"%recipient(?:\.([^%\s]+))?%")


def substituted(template: str, *, address: str, values: Mapping[str, object]) -> str:
    """Return `template` for one recipient; a value is never looked at again."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return address
        return written(values[name]) if name in values else found[0]

    return VARIABLE.sub(value, template)


def written(value: object) -> str:
    """Return a JSON value as it stands in a mail."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
