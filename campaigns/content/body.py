"""The author's HTML made ready for the layout: bounded, harmless, its ifs as comments so that tables keep them."""

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape

from campaigns.content.errors import ContentError
from campaigns.content.markup import VOID, Kind, Part, scan
from campaigns.content.meaning import Meaning
from campaigns.content.pieces import refused
from campaigns.content.words import Words

DEEPEST = 200
WHOLE = frozenset(["html", "body"])
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
    body = Body(words=words, meaning=meaning)
    for part in scan(html):
        if problem := harm(part) or body.problem(part):
            line = html.count("\n", 0, part.start) + 1 if keeps_lines else None
            raise ContentError(problem, field="body", line=line, tag=part.source[:80])
        body.add(part)
    return body.finished()


class Body:
    """Writes the body anew, part by part."""

    def __init__(self, *, words: Words, meaning: Meaning) -> None:
        self.words = words
        self.meaning = meaning
        self.bounds = Bounds()
        self.pieces: list[str] = []
        self.open: list[str] = []
        self.names: Counter[str] = Counter()
        self.opens_table = False
        self.is_document = False

    def problem(self, part: Part) -> str:
        """Return what is wrong with a part, if anything; a value in a style sheet is an error of its own."""
        if part.kind is Kind.RAW and part.name not in {"title"} and self.words.any.search(part.source):
            problem = f"a tag can't stand inside <{part.name}>."
            raise refused(part.source, problem, words=self.words, meaning=self.meaning)
        return unfinished(part) or self.bounds.exceeded(part)

    def add(self, part: Part) -> None:
        if part.kind is Kind.TEXT:
            self.pieces.append(self.text(part.source))
            return
        self.note_table(part)
        if part.kind is Kind.START and part.name not in VOID:
            self.is_document = self.is_document or part.name in WHOLE
            self.open.append(part.name)
            self.names[part.name] += 1
        elif part.kind is Kind.END and not self.close(part.name):
            return
        self.pieces.append(part.source)

    def text(self, source: str) -> str:
        """Return text with its ifs as comments and the bare unsubscribe link as a link."""
        text = self.words.marks.sub(r"<!--\g<0>-->", source)
        if self.names["a"]:
            return text
        return self.words.variables.sub(lambda match: anchor(match, self.meaning), text)

    def note_table(self, part: Part) -> None:
        """Open the body of a table before an if round its first row, where a parser would do so inside of it."""
        if part.kind is Kind.START and part.name == "tr" and self.opens_table and "<!--" in self.pieces[-1]:
            self.pieces.insert(-1, "<tbody>")
        if part.kind is not Kind.COMMENT:
            self.opens_table = (part.kind is Kind.START and part.name == "table") or (
                part.kind is Kind.END and part.name in {"thead", "caption", "colgroup"}
            )

    def close(self, name: str) -> bool:
        """Say whether an end tag ends anything; one that does not would end the layout's own elements."""
        if not self.names[name]:
            return False
        self.names[name] -= 1
        index = next(i for i in range(len(self.open) - 1, -1, -1) if self.open[i] == name)
        del self.open[index]
        return True

    def finished(self) -> str:
        ends = (
            []
            if self.is_document
            else [f"</{name}>" for name in reversed(self.open) if name not in CLOSES_ITSELF]
        )
        return "".join(self.pieces + ends)


def unfinished(part: Part) -> str:
    """Return what is wrong with markup that goes on to the end of the text and swallows it."""
    if part.kind in {Kind.START, Kind.END} and not part.source.endswith(">"):
        return f"{part.source[:30]} is never closed: write > after it."
    if part.kind is Kind.COMMENT and not part.source.endswith(
        "-->" if part.source.startswith("<!--") else ">"
    ):
        return f"{part.source[:30]} is never closed: write --> after it."
    return ""


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
