"""E-mail addresses: one spelling for each, and what we refuse to mail."""

import re
from typing import Any

import idna
from django.db import models
from email_validator import EmailNotValidError, validate_email

# What nearly every address in a real list looks like; the library below judges the rest, at a fiftieth of the speed.
PLAIN = re.compile(
    r"[a-z0-9_+&'/=-]+(?:\.[a-z0-9_+&'/=-]+)*@(?:(?!-)[a-z0-9-]{1,63}(?<!-)\.)+(?!-)[a-z][a-z0-9-]{0,61}[a-z]"
)
# Blanks that people paste round an address, the no-break and zero-width ones included.
BLANKS = " \t\r\n\v\f\u00a0\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
EDGES = re.compile(f"^[{BLANKS}]+|[{BLANKS}]+$")
LONGEST = 254


class InvalidAddress(ValueError):
    """No mail can be sent to this text; the message says why in one sentence."""


def normalise(text: str) -> str:
    """Return the one spelling of an address: no blanks round it, lower case, its domain in ASCII (IDNA).

    Raises InvalidAddress for what no provider takes, a local part outside ASCII included.
    """
    if len(text) <= 64 and PLAIN.fullmatch(text) and "--" not in text:
        return text  # nearly every address of a real list leaves here
    address = EDGES.sub("", text).lower()
    if (
        len(address) <= LONGEST
        and address.find("@") <= 64
        and PLAIN.fullmatch(address)
        and "--" not in address
    ):
        return address
    if not address:
        raise InvalidAddress("There is no address.")
    if "@" not in address:  # the library says the same, a hundred times slower
        raise InvalidAddress("An email address must have an @-sign.")
    try:
        valid = validate_email(
            address, check_deliverability=False, allow_smtputf8=False, test_environment=True, strict=True
        )
    except EmailNotValidError as error:
        raise InvalidAddress(str(error)) from error
    return f"{valid.ascii_local_part}@{valid.ascii_domain}".lower()


def domain_of(address: str) -> str:
    """Return the part after the last @, in lower case and ASCII where it can be."""
    domain = address.rsplit("@", 1)[-1].strip().lower()
    try:
        return idna.encode(domain, uts46=True).decode("ascii")
    except idna.IDNAError:
        return domain


class AddressField(models.EmailField):  # type: ignore[type-arg]  # generic in the stubs only
    """An e-mail address that is stored, and looked up, in its normal spelling."""

    def get_prep_value(self, value: Any) -> Any:
        """Return the normal spelling; text that is no address stays as it is, so that a search for it finds nothing."""
        if not isinstance(value, str):
            return super().get_prep_value(value)
        try:
            return normalise(value)
        except InvalidAddress:
            return EDGES.sub("", value).lower()
