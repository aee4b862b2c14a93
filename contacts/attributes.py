"""What may stand in a person's attributes, whoever writes them."""

import json
import re
from typing import Any

from contacts.importing.columns import RESERVED
from mailkoenig.lib.storable import UNSTORABLE

KEY = re.compile(r"[a-z][a-z0-9_]{0,59}")
LARGEST = 16_384


class BadAttributes(ValueError):
    """They can't be a person's attributes; the message says why and what to write."""


def check(attributes: object) -> dict[str, Any]:
    """Return a person's attributes. Raises BadAttributes."""
    if not isinstance(attributes, dict):
        raise BadAttributes('Write names with their texts, such as {"city": "Kiel"}.')
    for key, value in attributes.items():
        if not KEY.fullmatch(key) or key in RESERVED:
            raise BadAttributes(
                f"“{key}” can't be a merge tag: use small letters, digits and _, and not one of "
                f"{', '.join(sorted(RESERVED))}."
            )
        if isinstance(value, (dict, list)):
            raise BadAttributes(f"“{key}” must be a text or a number.")
        if isinstance(value, str) and UNSTORABLE.search(value):
            raise BadAttributes(f"“{key}” holds a character that cannot be stored.")
    if len(json.dumps(attributes)) > LARGEST:
        raise BadAttributes(f"They are larger than {LARGEST:,} bytes: keep less of this person.")
    return attributes
