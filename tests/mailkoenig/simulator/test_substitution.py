"""The provider's merging, with its teeth."""

import pytest

from mailkoenig.simulator.substitution import substituted


@pytest.mark.parametrize(
    ("template", "right"),
    [
        ("Hi %recipient.name%", "Hi <b>Ada</b>"),
        ("%recipient.missing%", "%recipient.missing%"),
        ("%recipient%", "ada@example.com"),
        ("%recipient.nested%", "%recipient.name%"),
        ("%recipient.number% %recipient.nothing%", "7 null"),
        ("100 % sure %recipient.name% 5%", "100 % sure <b>Ada</b> 5%"),
        ("%recipient.%recipient.name%", "%recipient.<b>Ada</b>"),
    ],
)
def test_substitution_is_literal_once_and_unescaped(template: str, right: str) -> None:
    values = {"name": "<b>Ada</b>", "nested": "%recipient.name%", "number": 7, "nothing": None}

    assert substituted(template, address="ada@example.com", values=values) == right
