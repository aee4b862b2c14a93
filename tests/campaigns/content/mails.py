"""The smallest mails and people for tests of content, and Mailgun's rule for filling a mail in."""

import re
from collections.abc import Mapping
from html.parser import HTMLParser

from campaigns.content import Compiled, Person, Rendered, Source, compile
from mailkoenig.providers.mailgun import DIALECT

URL = "https://mail.example.com/unsubscribe/0123456789abcdef/"


def person(name: str = "Ida", email: str = "ida@example.org", **attributes: object) -> Person:
    return Person(email, name, attributes, URL)


def source(
    body: str = "Hello", *, subject: str = "News", preheader: str = "", body_format: str = "markdown"
) -> Source:
    return Source(subject, preheader, body, body_format)


def compiled(
    body: str = "Hello", *, subject: str = "News", preheader: str = "", body_format: str = "markdown"
) -> Compiled:
    return compile(
        source(body, subject=subject, preheader=preheader, body_format=body_format), dialect=DIALECT
    )


def rendered(body: str, reader: Person, *, body_format: str = "markdown") -> Rendered:
    return compiled(body, body_format=body_format).render(reader)


def inner(html: str) -> str:
    """Return what stands in the layout's body, without styles and line breaks."""
    html = re.sub(r' (?:style|align)="[^"]*"', "", html)
    start = re.search('<div class="mk-body[^>]*>', html).end()  # type: ignore[union-attr]  # the layout has it
    return "".join(html[start : html.index("</div></div>", start)].splitlines())


def filled_in(template: str, values: Mapping[str, str]) -> str:
    """Do what Mailgun does: replace each variable that has a value once, and look at no value again."""
    return re.sub(r"%recipient\.(\w+)%", lambda match: values.get(match[1], match[0]), template)


class Elements(HTMLParser):
    """Lists the elements of a document, and what would run in them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.links: list[str] = []
        self.said: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]
        self.tags += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.said.append(data)

    @property
    def text(self) -> str:
        return "".join(self.said)
