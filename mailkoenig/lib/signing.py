"""Signatures by a shared key, compared in constant time."""

import hmac


def sign(text: str, *, key: str) -> str:
    """Return the HMAC-SHA256 of `text` as 64 hexadecimal digits."""
    return hmac.new(key.encode(), text.encode(), "sha256").hexdigest()


def matches(signature: object, *, text: str, keys: list[str]) -> bool:
    """Say whether `signature`, which may be anything at all, is that of `text` by one of `keys`."""
    if not isinstance(signature, str) or not signature.isascii():
        return False
    given = signature.encode()
    return any(hmac.compare_digest(sign(text, key=key).encode(), given) for key in keys)
