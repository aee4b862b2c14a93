"""What a person's facts do in a mail: they are shown, and do nothing else."""

from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.content import ContentError, Person, is_mistaken
from mailkoenig.providers.mailgun import DIALECT
from tests.campaigns.content.mails import URL, Elements, compiled, filled_in, person, rendered

HOSTILE = [
    "<b>Ida</b>",
    '<a href="https://example.com/x">You won</a>',
    '"><svg onload=alert(1)>',
    "Müller & Söhne",
    "A &amp; B",
    "<!-- Ida",
    "</title><script>document.title=1</script>",
    "{{ email }}",
    "{% debug %}",
    "'-->Ida]]>",
]
MAIL = compiled(
    """# Hello {{ name }}

{% if a %}**{{ a }}** [you](https://example.com/?n={{ name }}&a={{ a|upper }}) {{ name|default:a }}{% endif %}
[site]({{ a }}) <{{ email }}> ![{{ a }}]({{ a }} "{{ name }}") <span title={{ name }} lang='{{ a }}'>x</span>
<!-- {{ a }} -->

{% if name == a %}
- {{ a|title }}
{% else %}
| a | b |
|---|---|
| {{ name }} | {{ a|truncatechars:9 }} |
{% endif %}
50% %recipe
""",
    subject="{{ name }}, {% if a %}{{ a }}{% else %}news{% endif %} at 100%",
    preheader="{{ a }} & {{ name }}",
)
EMPTY = Elements(MAIL.render(person("x", a="y")).html)


@pytest.mark.parametrize("name", HOSTILE)
def test_html_in_a_name_is_text_and_escaped_once(name: str) -> None:
    mail = compiled("Hello {{ name }}!", subject="For {{ name }}").render(person(name))

    assert mail.subject == f"For {name}"
    assert mail.text.startswith(f"Hello {name}!\n")
    assert f"Hello {name}!" in Elements(mail.html).text
    assert "&amp;lt;" not in mail.html


@given(st.text(), st.text() | st.sampled_from(HOSTILE) | st.none() | st.integers() | st.lists(st.text()))
def test_the_provider_fills_in_exactly_what_the_preview_shows(name: str, attribute: object) -> None:
    reader = Person("ida@example.org", name, {"a": attribute}, URL)
    values = MAIL.values(reader)
    mail = MAIL.render(reader)

    assert set(values) == set(MAIL.keys)
    assert filled_in(MAIL.subject, values) == mail.subject
    assert filled_in(MAIL.html, values) == mail.html
    assert filled_in(MAIL.text, values) == mail.text
    assert not [sign for sign in mail.subject if category(sign) in {"Cc", "Cs", "Zl", "Zp"}]
    "".join(mail).encode()


@given(
    st.text(min_size=1)
    | st.sampled_from(HOSTILE)
    | st.sampled_from(["javascript:alert(1)", " JaVa\tScript:x", "data:text/html,x"])
)
def test_no_value_adds_an_element_or_a_link_that_does_something(value: str) -> None:
    found = Elements(MAIL.render(person(value, a=f"{value}x")).html)

    assert set(found.tags) <= set(EMPTY.tags)
    assert found.tags.count("a") == EMPTY.tags.count("a")
    assert all(
        link.startswith(("https://", "mailto:", "#")) or ":" not in link.split("/")[0] for link in found.links
    )


@pytest.mark.parametrize(
    "name",
    ["Ida\nBcc: spy@example.net", "Ida\r\nX-Test: 1\r\n\r\nsecond", "Ida\u2028x", "Ida\x0bx", "Ida\x00\x85x"],
)
def test_a_break_in_a_name_is_one_blank(name: str) -> None:
    mail = compiled("{{ name }}", subject="Hi {{ name }}").render(person(name))

    assert mail.subject.isprintable()
    assert mail.subject.startswith("Hi Ida ")
    assert "  " not in mail.subject


def test_a_break_in_the_subject_is_one_blank() -> None:
    assert compiled(subject="Hi {{ name }} \r\n there\n").subject == "Hi %recipient.v0% there"


def test_a_long_value_is_cut_in_the_subject_only() -> None:
    mail = compiled("{{ a }}", subject="{{ a }}").render(person(a="x" * 5_000))

    assert len(mail.subject) == 200
    assert "x" * 5_000 in mail.html


@pytest.mark.parametrize("value", ["%recipient.v0%", "100%recipients", "%UNSUBSCRIBE_URL%", "recipient.v0%"])
def test_a_value_that_looks_like_a_variable_of_the_provider_is_noticed(value: str) -> None:
    mail = compiled("{{ a }}")

    assert is_mistaken(mail.values(person(a=value)), dialect=DIALECT)
    assert not is_mistaken(mail.values(person(a="100% of it")), dialect=DIALECT)
    assert value in mail.render(person(a=value)).text


@pytest.mark.parametrize(
    "body", ["%recip<b></b>ient.v0%", "&#37;recipient.v0%", "**%recip**ient.v0%", "%recipient%"]
)
def test_an_author_cannot_write_a_variable_of_the_provider_in_a_roundabout_way(body: str) -> None:
    with pytest.raises(ContentError, match="%recip"):
        compiled(body)


@pytest.mark.parametrize(
    ("link", "value", "expected"),
    [
        ("[x]({{ a }})", "https://example.com/?a=1&b=2", "https://example.com/?a=1&b=2"),
        ("[x]({{ a }})", "javascript:alert(1)", "#"),
        ("[x]({{ a }})", "java\nscript:alert(1)", "#"),
        ("[x]({{ a }}/path)", "data:text/html,<b>", "#/path"),
        ("[x](https://example.com/?n={{ a }}&m=1)", "a b&c=d", "https://example.com/?n=a%20b%26c%3Dd&m=1"),
        ("[x](mailto:{{ a }})", "ida@example.org?bcc=x", "mailto:ida@example.org%3Fbcc%3Dx"),
        (
            "<a href={{ a }}>x</a>",
            'https://example.com/" onclick="x',
            "https://example.com/%22%20onclick=%22x",
        ),
        (
            "<a href=\"{% if a == '1' %}https://a.example.com{% else %}https://b.example.com/?q={{ a }}{% endif %}\">x</a>",
            "<2>",
            "https://b.example.com/?q=%3C2%3E",
        ),
        ('<a href="{% if b %}x{% else %}{{ a }}{% endif %}">x</a>', "vbscript:x", "#"),
    ],
)
def test_a_value_in_a_link_leads_somewhere_and_does_nothing(link: str, value: str, expected: str) -> None:
    mail = rendered(link, person(a=value))

    assert expected in Elements(mail.html).links
    assert f"x ({expected})" in mail.text or expected == "#"
