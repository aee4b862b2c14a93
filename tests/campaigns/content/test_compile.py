"""The finished mail: its link, its layout, its size, and that no text of an author breaks the compiler."""

import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from campaigns.content import ContentError, Source, check, compile
from mailkoenig.providers.mailgun import DIALECT
from tests.campaigns.content.mails import URL, Elements, compiled, inner, person, rendered, source

PARTS = st.sampled_from(
    "{{ name }}|{{ unsubscribe_url }}|{% if a %}|{% else %}|{% elif b %}|{% endif %}|{{|}}|{%|%}|{#|#}|{|}|<|>|<b>|</b>|<p>|</p>"
    "|<table>|<tr>|<td>|</td>|</table>|<a href=\"|<a href='|\"|'|=|<!--|-->|<style>|</style>|<title>|<html>|<body>|</body>|<head>"
    "|<!doctype html>|<svg>|<math>|<select>|<option>|<pre>|</pre>|<br>|<li>|- |1. |> |# |\n|\n\n|    |`|```\n|*|**|_|[|](|)|![|<http://x.y>"
    "|| a | b |\n|---|---|\n|&amp;|&#0;|&#xd800;|%|%recipient|\0|\ud800|\u2028|⸢|⸣|text|\r".replace(
        "||", "|\\x7c|"
    ).split("|")
).map(lambda part: part.replace("\\x7c", "|"))
TEXTS = st.lists(PARTS | st.text(max_size=5), max_size=25).map("".join)


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS, TEXTS, st.sampled_from(["markdown", "html"]))
@example("x", "", "{% if a %}{% if b %}<td>{% endif %}", "html")
def test_any_text_compiles_or_is_refused(subject: str, preheader: str, body: str, body_format: str) -> None:
    mail = Source(f"x{subject}", preheader, body, body_format)
    try:
        result = compile(mail, dialect=DIALECT)
    except ContentError as error:
        assert str(error)
        assert check(mail, dialect=DIALECT)
        return

    for reader in (person(), person("<b>", a="1", b="<i>"), person("", a=None, b=1)):
        copy = result.render(reader)
        assert copy.subject.isprintable() or not copy.subject.isascii()
        assert URL in copy.text
        assert URL in copy.html
        assert "{{" not in copy.text
        assert result.html.encode()


@pytest.mark.parametrize("body_format", ["markdown", "html"])
def test_a_body_without_the_link_gets_it_from_its_layout_in_both_parts(body_format: str) -> None:
    mail = rendered("Hello", person(), body_format=body_format)

    assert mail.html.count(f'href="{URL}"') == 1
    assert mail.text.count(URL) == 1


@pytest.mark.parametrize(
    ("body", "body_format"),
    [
        ("[leave]({{ unsubscribe_url }})", "markdown"),
        ("{{ unsubscribe_url }}", "markdown"),
        ("<{{ unsubscribe_url }}>", "markdown"),
        ("<p><a href='{{ unsubscribe_url }}'><img src=x.png alt=''></a></p>", "html"),
        ("<p>{{ unsubscribe_url }}</p>", "html"),
    ],
)
def test_a_body_with_the_link_gets_no_other(body: str, body_format: str) -> None:
    mail = rendered(body, person(), body_format=body_format)

    assert mail.html.count(f'href="{URL}"') == 1
    assert mail.text.count(URL) == 1


@pytest.mark.parametrize(
    "body",
    [
        "{% if a %}[leave]({{ unsubscribe_url }}){% endif %}",
        "<!-- {{ unsubscribe_url }} -->",
        "[x](https://example.com/?next={{ unsubscribe_url }})",
        "![]({{ unsubscribe_url }})",
    ],
)
def test_a_link_that_not_everybody_sees_does_not_count(body: str) -> None:
    mail = rendered(body, person())

    assert URL in Elements(mail.html).links
    assert f"Unsubscribe ({URL})" in mail.text


def test_the_provider_is_asked_not_to_count_clicks_on_the_link() -> None:
    assert compiled("Hello").html.count('<a disable-tracking="true" href="%recipient.v0%"') == 1


def test_a_mail_without_any_tag_still_differs_from_person_to_person() -> None:
    assert compiled("Hello").keys == ("v0",)
    assert compiled("Hello").attributes == frozenset()


def test_a_whole_document_keeps_its_own_layout() -> None:
    mail = compiled(
        "<!doctype html><html><head><style>p{color:red}@media print{p{color:blue}}</style></head>"
        "<body class=mine><p>Hi {{ name }}</p></body></html>",
        preheader="Soon",
        body_format="html",
    ).render(person())

    assert 'class="mk-page"' not in mail.html
    assert '<p style="color: red;">Hi Ida</p>' in mail.html
    assert "@media print" in mail.html
    assert (
        mail.html.index("Soon")
        < mail.html.index("Hi Ida")
        < mail.html.index(URL)
        < mail.html.index("</body>")
    )
    assert "Soon" not in mail.text


def test_the_preheader_is_hidden_and_only_in_the_html() -> None:
    mail = compiled("Body", preheader="For {{ name }} & all").render(person("A<B"))

    assert '<div style="display:none' in mail.html
    assert "For A&lt;B &amp; all" in mail.html
    assert "For A" not in mail.text


def test_a_style_sheet_is_never_read_from_a_file_or_fetched(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.css"
    sheet.write_text("p { color: red }")
    for address in (sheet, "https://example.com/x.css"):
        mail = compiled(f'<html><link rel="stylesheet" href="{address}"><p>x</p></html>', body_format="html")
        assert "red" not in mail.html


@pytest.mark.parametrize(
    "body",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '<a href="javascript:alert(1)">x</a>',
        '<a href=" &#106;ava\nscript:alert(1)">x</a>',
        "<iframe src=x></iframe>",
        '<meta http-equiv="refresh" content="0;url=x">',
        "<style>{{ name }}</style>",
        "<p style='color:{{ a }}'>x</p>",
        "<p {{ a }}>x</p>",
        "<{{ a }}>x",
        "<p {% if a %}class=x{% endif %}>x</p>",
        '<a href="data:{{ a }}">x</a>',
        '<a href="{{ a }}script:x">x</a>',
        "{% if a %}<b>{% endif %}x</b>",
        "<p>{% if a %}</p><p>{% else %}x{% endif %}</p>",
        "<div>" * 300,
        '<font color="red">' * 150 + "<p>" * 40_000,
        "<i>x</i>" * 30_000,
    ],
)
def test_html_that_mail_does_not_bear_is_refused(body: str) -> None:
    with pytest.raises(ContentError) as caught:
        compiled(f"\n{body}", body_format="html")

    assert caught.value.field == "body"
    assert len(str(caught.value)) < 400


def test_a_refusal_in_html_names_its_line() -> None:
    with pytest.raises(ContentError, match="Body, line 4"):
        compiled("{% comment %}\n{% endcomment %}\n{{\nname }}<script>", body_format="html")


def test_an_embedded_image_may_be_larger_than_what_is_written() -> None:
    image = f'<img alt="x" src="data:image/png;base64,{"A" * 2_000_000}">'

    assert compiled(image, body_format="html").size > 2_000_000
    assert compiled(image, body_format="html").warnings


@pytest.mark.parametrize(
    ("body", "body_format", "limit"),
    [
        ("x" * 30_000_000, "markdown", "25 MB"),
        ("x" * 30_000_000, "html", "25 MB"),
        (f'<img src="data:image/png;base64,{"A" * 30_000_000}">', "html", "25 MB"),
        ("x " * 600_000, "html", "1,000 kB"),
        ("x " * 150_000, "markdown", "200 kB"),
    ],
)
def test_a_mail_that_is_too_large_is_refused_at_once_with_the_limit(
    body: str, body_format: str, limit: str
) -> None:
    began = time.monotonic()
    with pytest.raises(ContentError, match=limit):
        compiled(body, body_format=body_format)

    assert time.monotonic() - began < 5


def test_no_line_grows_longer_than_mail_allows() -> None:
    mail = compiled("lorem ipsum dolor {{ name }} " * 400 + "\n\n    kept  code")

    assert max(map(len, mail.html.split("\n"))) < 900
    assert max(map(len, mail.text.split("\n"))) < 900
    assert "kept  code" in mail.html


def test_the_subject_must_say_something() -> None:
    assert [problem.field for problem in check(source(subject=" \n"), dialect=DIALECT)] == ["subject"]
    assert check(source("x", body_format="rtf"), dialect=DIALECT)[0].field == "body"


def test_static_signs_survive() -> None:
    mail = rendered("Costs $5, 100% & `a<b` \\* %s {0} A&amp;B", person())

    assert "Costs $5, 100% &amp; <code" in mail.html
    assert mail.text.startswith("Costs $5, 100% & a<b * %s {0} A&B\n")
    assert inner(mail.html).startswith("<p>Costs $5")
