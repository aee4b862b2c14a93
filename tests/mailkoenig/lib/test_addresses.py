import pytest
from email_validator import EmailNotValidError, validate_email
from hypothesis import example, given
from hypothesis import strategies as st

from mailkoenig.lib.addresses import InvalidAddress, normalise

LETTERS = st.text("abzAZ019.-_+'&/=~!#$%^*?`{|}\\\"(),:;<>[]@ xn\u00e4\u0130\u00df", max_size=70)
ADDRESSES = st.builds(
    "{}@{}.{}".format, LETTERS, LETTERS, st.sampled_from(["org", "com", "x", "c0", "-a", "a-", ""])
)


def judged_by_the_library(text: str) -> str | None:
    """Return what email-validator, which is slow and thorough, makes of a text."""
    try:
        valid = validate_email(
            text, check_deliverability=False, allow_smtputf8=False, test_environment=True, strict=True
        )
    except EmailNotValidError:
        return None
    return f"{valid.ascii_local_part}@{valid.ascii_domain}".lower()


@given(st.one_of(ADDRESSES, st.emails(), st.text(max_size=80)))
@example("a@b.org")
@example("a..b@example.org")
@example(".a@example.org")
@example("a@-b.org")
@example("a@b-.org")
@example("a@example.org.")
@example("a@xn--a.org")
@example("a@ab--cd.org")
@example(f"{'a' * 65}@example.org")
@example(f"{'a' * 64}@{'b' * 63}.{'c' * 63}.{'d' * 63}.org")
@example("a@example.o1")
@example("a@1.2.3.4")
@example("a@localhost")
def test_short_cut_and_library_never_disagree(text: str) -> None:
    expected = judged_by_the_library(text.strip(BLANKS_STRIPPED).lower())

    try:
        found = normalise(text)
    except InvalidAddress as error:
        assert str(error)
        assert expected is None
    else:
        assert found == expected
        assert normalise(found) == found


BLANKS_STRIPPED = " \t\r\n\v\f\u00a0\u1680\u202f\u205f\u2060\u3000\ufeff" + "".join(
    chr(code) for code in (*range(0x2000, 0x2010), 0x2028, 0x2029)
)


@pytest.mark.parametrize("blank", ["\u00a0", " \t", "\u200b", "\ufeff", "\u3000"])
def test_blanks_of_every_kind_round_an_address_are_none_of_it(blank: str) -> None:
    assert normalise(f"{blank}Carl@Example.ORG{blank}") == "carl@example.org"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "nobody",
        "a b@example.org",
        "a@b@example.org",
        "a@example.org\nBcc: x@example.org",
        "jörg@example.org",
    ],
)
def test_what_no_provider_takes_is_refused(text: str) -> None:
    with pytest.raises(InvalidAddress):
        normalise(text)
