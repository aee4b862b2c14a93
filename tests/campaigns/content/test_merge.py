"""What an author may write in a tag, and how anything else is refused."""

import pytest

from campaigns.content import ContentError, check, compile
from mailkoenig.providers.mailgun import DIALECT
from tests.campaigns.content.mails import compiled, person, rendered, source


@pytest.mark.parametrize("field", ["subject", "body"])
@pytest.mark.parametrize(
    "tag",
    [
        "{% debug %}",
        "{% load static %}",
        '{% include "admin/base.html" %}',
        '{% extends "admin/base.html" %}',
        "{% autoescape off %}",
        "{% for x in name %}",
        "{% with a=name %}",
        '{% url "admin:index" %}',
        "{% csrf_token %}",
        "{% now 'Y' %}",
        "{% %}",
        "{{ request }}",
        "{{ settings.SECRET_KEY }}",
        "{{ contact.unsubscribe_token }}",
        "{{ unsubscribe_token }}",
        "{{ name.__class__ }}",
        "{{ name.upper }}",
        "{{ _name }}",
        "{{ name|safe }}",
        '{{ name|ljust:"1000000000" }}',
        '{{ name|add:"x" }}',
        "{{ name|default }}",
        '{{ _("name") }}',
        '{{ name|default:_("x") }}',
        "{{ }}",
        "{{ name",
        "{{{ name }}}",
        "{% if name",
        "{% if name %}",
        "{% endif %}",
        "{% else %}",
        "{% if name %}a{% else %}b{% else %}c{% endif %}",
        "{% if %}x{% endif %}",
        "{% if name == %}x{% endif %}",
        "{% firstof %}",
        "{% comment %}",
        "{% if name %}" * 11 + "{% endif %}" * 11,
        "{% if " + "not " * 100 + "name %}x{% endif %}",
        "{{ name" + "|upper" * 20 + " }}",
    ],
)
def test_anything_but_the_documented_tags_is_refused_with_its_place(tag: str, field: str) -> None:
    text = f"Hello\n{tag}" if field == "body" else tag
    mail = source(text) if field == "body" else source(subject=text)

    with pytest.raises(ContentError) as caught:
        compile(mail, dialect=DIALECT)

    assert caught.value.field == field
    assert caught.value.line == (2 if field == "body" else 1)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("tag", "meant"),
    [
        ("{{ frist_name }}", "first_name"),
        ("{{ Name }}", "name"),
        ("{{ contact.name }}", "name"),
        ("{ { name } }", "{{ name }}"),
        ("{ {name}}", "{{ name }}"),
        ("{name}", "{{ name }}"),
        ("${name}", "{{ name }}"),
        ("[[first_name]]", "{{ first_name }}"),
        ("%%Name%%", "{{ name }}"),
        ("*|FNAME|*", "{{ name }}"),
        ("<%= name %>", "{{ name }}"),
        ("%recipient.name%", "{{ name }}"),
        ("%unsubscribe_url%", "{{ name }}"),
        ("{ % if name % }", "{{ name }}"),
    ],
)
def test_a_near_miss_is_refused_with_what_was_perhaps_meant(tag: str, meant: str) -> None:
    with pytest.raises(ContentError, match=meant.replace("{", r"\{")):
        compile(source(f"Hello {tag}!"), dialect=DIALECT, known=frozenset({"first_name"}))


def test_an_unknown_name_is_allowed_only_where_nobody_knows_the_names() -> None:
    assert compiled("{{ anything }}").attributes == {"anything"}

    with pytest.raises(ContentError, match="no contact here has “anything”"):
        compile(source("{{ anything }}"), dialect=DIALECT, known=frozenset({"company"}))


@pytest.mark.parametrize(
    "text",
    [
        "50% off {now}",
        "a { color: red }",
        "{{ '{' }}",
        "100 %",
        "[[1]]",
        "a}}b",
        "{# note",
        "%PATH%",
        "{% comment %}{{ x.y }}{% endcomment %}a",
        "{# {{ x.y }} #}a",
    ],
)
def test_harmless_signs_stay_as_they_are(text: str) -> None:
    assert check(source(text), dialect=DIALECT) == []


def test_check_lists_every_problem_with_its_line() -> None:
    problems = check(
        source("{{ a.b }}\n\n{% load x %}\n{{ c|d }}", subject="{{ e.f }}", preheader="{{ g"), dialect=DIALECT
    )

    assert [(problem.field, problem.line) for problem in problems] == [
        ("subject", 1),
        ("preheader", 1),
        ("body", 1),
        ("body", 3),
        ("body", 4),
    ]


@pytest.mark.parametrize("name", ["", "   ", "NULL", "None", "-", "\u200b", "n/a"])
def test_nobody_is_greeted_by_nothing(name: str) -> None:
    mail = compiled("Hello {{ name }},", subject="For {{ name|upper }}").render(person(name))

    assert "Hello there," in mail.html
    assert mail.text.startswith("Hello there,\n")
    assert mail.subject == "For THERE"
    assert rendered('Hello {{ name|default:"friend" }},', person(name)).text.startswith("Hello friend,")


def test_a_person_called_null_keeps_the_name() -> None:
    assert rendered("Hello {{ name }},", person("Null")).text.startswith("Hello Null,")


def test_names_without_a_default_are_known_to_preflight() -> None:
    mail = compiled('{{ name }} {{ a|default:"x" }} {{ b }} {% if c %}{{ c }}{% endif %} {{ email }}')

    assert mail.without_default == ("b", "name")
    assert mail.attributes == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("tag", "attributes", "expected"),
    [
        ("{{ a|default:b }}", {"a": None, "b": "b"}, "b"),
        ("{{ a|title }}", {"a": "o'brien of cork"}, "O'Brien Of Cork"),
        ("{{ a|capfirst }}", {"a": "éa"}, "Éa"),
        ("{{ a|lower|capfirst }}", {"a": "ABC"}, "Abc"),
        ("{{ a|truncatechars:4 }}", {"a": "abcdef"}, "abc…"),
        ("{{ a|truncatewords:2 }}", {"a": "a b c"}, "a b …"),
        ("{{ a }} point{{ a|pluralize }}", {"a": "1"}, "1 point"),
        ("{{ a }} part{{ a|pluralize:'y,ies' }}", {"a": 2}, "2 parties"),
        ("{{ a|length }}", {"a": "abc"}, "3"),
        ('{{ a|date:"j F Y" }}', {"a": "2026-03-01"}, "1 March 2026"),
        ('{{ a|date:"j F Y" }}', {"a": "soon"}, "soon"),
        ("{% firstof a b 'c' %}", {"b": "x"}, "x"),
        (
            "{{ a }}/{{ b }}/{{ c }}/{{ d }}/{{ e }}",
            {"a": True, "b": 2.0, "c": [1, "x"], "d": {"k": 1}},
            "true/2/1, x//",
        ),
        ("{% if a > 9 %}more{% else %}less{% endif %}", {"a": "10"}, "more"),
        ("{% if a == 10 %}same{% endif %}", {"a": "10"}, "same"),
        ("{% if a and not b %}yes{% endif %}", {"a": "x", "b": "0"}, "yes"),
        ("{% if 'erl' in a %}yes{% endif %}", {"a": "Berlin"}, "yes"),
        ("{% if a %}1{% elif b == 'x' %}2{% else %}3{% endif %}", {"b": "x"}, "2"),
        ("{% if a %}1{% elif b %}2{% else %}3{% endif %}", {}, "3"),
        ("{% if a %}{% if b %}both{% else %}a only{% endif %}{% endif %}", {"a": 1}, "a only"),
        ("{% if vip == True %}yes{% endif %}", {"vip": True}, "yes"),
    ],
)
def test_the_language_says(tag: str, attributes: dict[str, object], expected: str) -> None:
    mail = rendered(f"[{tag}]", person(**attributes))  # type: ignore[arg-type]  # any attribute

    assert mail.text.startswith(f"[{expected}]")


def test_one_tag_in_one_place_is_one_variable() -> None:
    mail = compiled("{{ name }} {{ name }} {{name}}", subject="{{ name }}")

    assert len(mail.keys) == 3  # HTML, text and subject, the unsubscribe link


def test_tags_that_an_html_editor_wrote_with_entities_work() -> None:
    mail = rendered("<p>Hi {{&nbsp;a|default:&quot;you&quot;&nbsp;}}</p>", person(), body_format="html")

    assert "<p" in mail.html
    assert "Hi you" in mail.text
