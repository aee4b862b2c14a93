"""Reading forms fast must not read them wrong."""

from urllib.parse import unquote_to_bytes, urlencode

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from mailkoenig.simulator.forms import BadForm, parse, unquoted

TEXT = st.text(max_size=40)
PAIRS = st.lists(st.tuples(st.text(min_size=1, max_size=5), TEXT), max_size=10)
FORM = "application/x-www-form-urlencoded"


@given(
    st.lists(
        st.sampled_from([b"%20", b"%C3", b"%2", b"%", b"+", b"a", b"=", b"%3D", b"\n", b"%zz"]), max_size=80
    )
)
def test_unquoting_agrees_with_the_standard_library(pieces: list[bytes]) -> None:
    value = b"".join(pieces)

    assert unquoted(value) == unquote_to_bytes(value.replace(b"+", b" "))


@given(PAIRS)
def test_urlencoded_comes_back_as_it_was(pairs: list[tuple[str, str]]) -> None:
    form = parse(FORM, urlencode(pairs).encode())

    assert [(name, value) for name, values in form.fields.items() for value in values] == grouped(pairs)


@given(st.lists(st.tuples(st.sampled_from(["to", "v:x", "h:Y"]), TEXT), min_size=1, max_size=10))
def test_multipart_comes_back_as_it_was(pairs: list[tuple[str, str]]) -> None:
    parts = [(name, (None, value.encode())) for name, value in pairs]
    request = requests.Request("POST", "http://127.0.0.1/", files=parts).prepare()
    assert isinstance(request.body, bytes)

    form = parse(request.headers["Content-Type"], request.body)

    assert [(name, value) for name, values in form.fields.items() for value in values] == grouped(pairs)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data", b""),
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\ncut'),
    ],
)
def test_what_is_no_form_is_refused(content_type: str, body: bytes) -> None:
    with pytest.raises(BadForm):
        parse(content_type, body)


def grouped(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs by name, names in the order they came first."""
    names = list(dict.fromkeys(name for name, _ in pairs))
    return [(name, value) for name in names for other, value in pairs if other == name]
