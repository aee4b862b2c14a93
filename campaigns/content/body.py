"""The author's HTML made ready for the layout: bounded, harmless, its ifs as comments so that tables keep them."""

import re
from collections.abc import Iterator
from html import unescape

from campaigns.content.errors import ContentError
from campaigns.content.markup import VOID, Kind, Part, scan
from campaigns.content.merge import Meaning
from campaigns.content.words import Words

DEEPEST = 200
MOST_ELEMENTS = 50_000
MOST_REPEATED = 50_000_000
CLOSES_ITSELF = frozenset(
    ["p", "li", "td", "th", "tr", "dt", "dd", "option", "tbody", "thead", "tfoot", "body", "html", "head"]
)
REPEATED = frozenset(
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]
)
DROPPED = frozenset(
    [
        "script",
        "iframe",
        "object",
        "embed",
        "applet",
        "base",
        "frame",
        "frameset",
        "plaintext",
        "portal",
        "noscript",
        "template",
    ]
)
LINKS = frozenset(
    [
        "href",
        "src",
        "action",
        "formaction",
        "background",
        "poster",
        "cite",
        "longdesc",
        "data",
        "xlink:href",
        "srcset",
        "ping",
    ]
)
HARMFUL = re.compile(r"(?:javascript|vbscript|data|file):", re.IGNORECASE)
BLANKS = re.compile(r"[\x00-\x20]+")


def prepare(html: str, *, words: Words, meaning: Meaning, keeps_lines: bool) -> str:
    """Return the body with ifs in text as comments and a bare unsubscribe link as a link.

    Raises ContentError, with the line where `keeps_lines` says that lines are still the author's.
    """
    if html.count("<") > MOST_ELEMENTS:
        raise ContentError(f"it has more than {MOST_ELEMENTS:,} HTML tags: shorten it.", field="body")
    pieces: list[str] = []
    anchors = 0
    bounds = Bounds()
    for part in scan(html):
        problem = harm(part) or bounds.exceeded(part)
        if problem:
            line = html.count("\n", 0, part.start) + 1 if keeps_lines else None
            raise ContentError(problem, field="body", line=line, tag=part.source[:80])
        if part.kind is Kind.TEXT:
            text = words.marks.sub(r"<!--\g<0>-->", part.source)
            pieces.append(
                text if anchors else words.variables.sub(lambda match: anchor(match, meaning), text)
            )
            continue
        if part.name == "a":
            anchors = max(anchors + (1 if part.kind is Kind.START else -1), 0)
        pieces.append(part.source)
    return "".join(pieces)


def anchor(match: re.Match[str], meaning: Meaning) -> str:
    if not meaning.variables[int(match[1])].is_link:
        return match[0]
    return f'<a href="{match[0]}">{match[0]}</a>'


class Bounds:
    """Watches what would make a parser's work grow out of proportion: depth, and formatting that is never closed."""

    def __init__(self) -> None:
        self.depth = 0
        self.repeated = 0
        self.formats: dict[str, list[int]] = {}
        self.weight = 0

    def exceeded(self, part: Part) -> str:
        """Return what is wrong with the text up to `part`, if anything."""
        if part.kind is Kind.START and part.name not in VOID:
            self.depth += part.name not in CLOSES_ITSELF
            self.repeated += self.weight
            if part.name in REPEATED:
                self.formats.setdefault(part.name, []).append(len(part.source))
                self.weight += len(part.source)
        elif part.kind is Kind.END and part.name not in VOID:
            self.depth = max(self.depth - (part.name not in CLOSES_ITSELF), 0)
            if self.formats.get(part.name):
                self.weight -= self.formats[part.name].pop()
        if self.depth > DEEPEST:
            return f"elements stand more than {DEEPEST} deep in each other: close the ones that are open."
        if self.repeated > MOST_REPEATED:
            return "formatting is opened again and again and never closed: close it."
        return ""


def harm(part: Part) -> str:
    """Return why mail programs would drop this tag, and with it perhaps the mail, if they would."""
    if part.kind is not Kind.START:
        return ""
    if part.name in DROPPED:
        return f"<{part.name}> does not work in mail: take it out."
    if part.name == "meta" and part.get("http-equiv").strip().lower() == "refresh":
        return "a page that reloads does not work in mail: take the refresh out."
    return next(harmful_attributes(part), "")


def harmful_attributes(part: Part) -> Iterator[str]:
    for name, value, _, _ in part.attributes:
        if name.startswith("on") or name == "srcdoc":
            yield f"{name}= does not work in mail: take it out of <{part.name}>."
        if name in LINKS and HARMFUL.match(BLANKS.sub("", unescape(value))) and not is_image(part, value):
            yield f"{name}= can't lead to {value.strip()[:30]}: write an address that begins with https://."


def is_image(part: Part, value: str) -> bool:
    return part.name in {"img", "source", "td", "table", "body"} and value.strip().lower().startswith(
        "data:image/"
    )
