"""How Markdown, conditions and the text part look."""

import pytest

from campaigns.content import ContentError
from tests.campaigns.content.mails import compiled, inner, person, rendered


@pytest.mark.parametrize(
    ("body", "with_a", "without_a"),
    [
        (
            "Hi {% if a %}**{{ a }}**{% else %}_all_{% endif %}!",
            "<p>Hi <strong>1</strong>!</p>",
            "<p>Hi <em>all</em>!</p>",
        ),
        ("{% if a %}_x_{% endif %} y", "<p><em>x</em> y</p>", "<p> y</p>"),
        (
            "{% if a %}\n## Head\n\nText\n{% else %}\n- x\n{% endif %}",
            "<h2>Head</h2><p>Text</p>",
            "<ul><li>x</li></ul>",
        ),
        ("{% if a %}One\n\nTwo{% endif %}", "<p>One</p><p>Two</p>", ""),
        ("{% if a %}# Head{% endif %}\n\nText", "<h1>Head</h1><p>Text</p>", "<p>Text</p>"),
        (
            "- x\n{% if a %}\n- y\n{% endif %}\n- z",
            "<ul><li>x</li><li>y</li><li>z</li></ul>",
            "<ul><li>x</li><li>z</li></ul>",
        ),
        (
            "- x\n{% if a %}- y\n{% endif %}- z",
            "<ul><li>x</li><li>y</li><li>z</li></ul>",
            "<ul><li>x</li><li>z</li></ul>",
        ),
        (
            "1. x\n{% if a %}\n2. y\n{% endif %}\n3. z",
            "<ol><li>x</li><li>y</li><li>z</li></ol>",
            "<ol><li>x</li><li>z</li></ol>",
        ),
        (
            "|h|\n|-|\n|x|\n{% if a %}\n|y|\n{% endif %}\n|z|",
            "<tr><td>x</td></tr><tr><td>y</td></tr><tr><td>z</td></tr>",
            "<tr><td>x</td></tr><tr><td>z</td></tr>",
        ),
        (
            "<table>\n{% if a %}\n<tr><td>y</td></tr>\n{% endif %}\n</table>",
            "<tbody><tr><td>y</td></tr></tbody>",
            "",
        ),
        ("> q {% if a %}y{% endif %}", "<p>q y</p>", "<p>q </p>"),
        ("# {% if a %}A{% else %}B{% endif %}", "<h1>A</h1>", "<h1>B</h1>"),
        ("{% if a %}{% if b %}x{% else %}**y**{% endif %}{% endif %}", "<strong>y</strong>", ""),
        ("~~x~~ {{ a }}_{{ a }}", "<p><s>x</s> 1_1</p>", "<p><s>x</s> _</p>"),
    ],
)
def test_a_condition_holds_markup(body: str, with_a: str, without_a: str) -> None:
    assert with_a in inner(rendered(body, person(a="1")).html)
    assert without_a in inner(rendered(body, person()).html)
    assert with_a not in inner(rendered(body, person()).html)


def test_a_condition_that_crosses_elements_is_refused_with_its_line() -> None:
    with pytest.raises(ContentError, match="line 3") as caught:
        compiled("x\n\n- {% if a %}x\n- y{% endif %}")

    assert caught.value.tag == "{% if a %}"


def test_the_text_part_reads_like_a_letter() -> None:
    body = """# Hello {{ name }}

First line
goes on with [a link](https://example.com/a?b=1&c=2) and https://example.com/.

{% if a %}
## For you

1. one
2. two
   - deep
   - deeper
{% endif %}

> A quotation
>
> of two paragraphs

| Day | Price |
| --- | ---: |
| Mon | 5 € |

![A picture](https://example.com/p.png)

---

    code  stays

Bye<br>Ada
"""
    assert rendered(body, person(a="1")).text.split("\n\nUnsubscribe")[0] == (
        "Hello Ida\n\n"
        "First line goes on with a link (https://example.com/a?b=1&c=2) and https://example.com/.\n\n"
        "For you\n\n"
        "1. one\n2. two\n  - deep\n  - deeper\n\n"
        "> A quotation\n\n> of two paragraphs\n\n"
        "Day | Price\nMon | 5 €\n\n"
        "A picture\n\n"
        f"{'-' * 40}\n\n"
        "code  stays\n\n"
        "Bye\nAda"
    )
    assert "Hello Ida\n\nFirst" in rendered(body, person()).text
    assert "/.\n\n> A quotation" in rendered(body, person()).text
