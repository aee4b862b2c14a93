"""The plain-text part: what a finished HTML document says, with its links written out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import unescape

from campaigns.content.markup import VOID, Kind, Part
from campaigns.content.meaning import Meaning
from campaigns.content.pieces import Context, Flat, Pieces, nest, split
from campaigns.content.words import Mark, Words

PARAGRAPHS = frozenset(
    ["p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "table", "dl", "figure"]
)
LINES = frozenset(
    [
        "div",
        "tr",
        "li",
        "section",
        "article",
        "header",
        "footer",
        "main",
        "center",
        "address",
        "caption",
        "dt",
        "dd",
        "form",
    ]
)
LISTS = frozenset(["ul", "ol"])
HIDDEN = frozenset(["head", "style", "script", "title", "template", "noscript"])
HIDING = re.compile(r"display\s*:\s*none", re.IGNORECASE)
BLANKS = re.compile("[ \t\n\r\f\u00a0]+")
UNSEEN = re.compile("[\u200b\u200c\u00ad\u034f\ufeff]")
LONGEST_LINE = 700
RULE = "-" * 40
PLAIN = (Context.PLAIN, Context.PLAIN)
PLAIN_LINK = (Context.PLAIN_LINK, Context.PART)


@dataclass(slots=True)
class Ending:
    """How the text ends so far, which says what must come before what follows."""

    breaks: int = 2
    """Line breaks at the end; the beginning counts as a paragraph's."""
    wanted: int = 0
    blank: bool = False
    column: int = 0
    cell: bool = False


@dataclass(slots=True)
class Link:
    """An anchor that is being read."""

    href: str
    start: int
    said: list[str] = field(default_factory=list)


class Writer:
    """Writes the text of one document."""

    def __init__(self, *, words: Words, meaning: Meaning) -> None:
        self.words = words
        self.meaning = meaning
        self.out: Flat = []
        self.ending = Ending()
        self.before: dict[int, Ending] = {}
        self.lists: list[int | None] = []
        self.quotes = 0
        self.kept = 0
        self.hidden: list[str] = []
        self.links: list[Link] = []

    def read(self, parts: Sequence[Part]) -> Pieces:
        """Return the text as pieces; raises Misplaced where an if does not stand whole in it."""
        for part in parts:
            if self.hidden:
                self.read_hidden(part)
            elif part.kind is Kind.TEXT:
                self.text(part.source)
            elif part.kind is Kind.START:
                self.start(part)
            elif part.kind is Kind.END:
                self.end(part.name)
            elif mark := self.words.marks.fullmatch(part.source[4:-3]):
                self.mark(Mark(mark[1]), int(mark[2]))
        return nest(self.out, meaning=self.meaning)

    def read_hidden(self, part: Part) -> None:
        if part.kind is Kind.START and part.name not in VOID:
            self.hidden.append(part.name)
        elif part.kind is Kind.END:
            self.hidden.pop()

    def text(self, source: str) -> None:
        position = 0
        for match in self.words.marks.finditer(source):
            self.say(source[position : match.start()])
            self.mark(Mark(match[1]), int(match[2]))
            position = match.end()
        self.say(source[position:])

    def say(self, source: str) -> None:
        """Write text, its blanks as one."""
        text = UNSEEN.sub("", unescape(source))
        if self.kept:
            self.say_kept(text)
            return
        for index, word in enumerate(BLANKS.split(text)):
            if index:
                self.ending.blank = True
            if word:
                self.put(word)

    def say_kept(self, text: str) -> None:
        for index, line in enumerate(text.replace("\r", "").split("\n")):
            if index:
                self.line_break()
            if line:
                self.put(line)

    def put(self, word: str) -> None:
        """Write a word, after the breaks, blank or cell border that it needs."""
        self.settle()
        ending = self.ending
        if ending.blank and not ending.breaks:
            if ending.column > LONGEST_LINE:
                self.line_break()
                self.settle()
            else:
                self.write(" ")
        ending.blank = False
        self.write(word)
        if self.links:
            self.links[-1].said.append(word)

    def write(self, text: str) -> None:
        self.out.extend(split(text, words=self.words, meaning=self.meaning, contexts=PLAIN))
        self.ending.breaks = 0
        self.ending.column += len(text)

    def settle(self) -> None:
        """Write the breaks that were asked for, and what a new line begins with."""
        ending = self.ending
        missing = ending.wanted - ending.breaks
        ending.wanted = 0
        if missing > 0:
            self.out.append("\n" * missing)
            ending.breaks += missing
            ending.column = 0
            ending.cell = False
        if ending.cell and not ending.breaks:
            self.write(" | ")
            ending.blank = False
        ending.cell = False
        if ending.breaks:
            ending.blank = False
            if ending.column == 0 and self.quotes:
                self.out.append("> " * self.quotes)
                ending.column = 2 * self.quotes

    def line_break(self) -> None:
        self.settle()
        self.out.append("\n")
        self.ending.breaks += 1
        self.ending.column = 0

    def want(self, breaks: int) -> None:
        self.ending.wanted = max(self.ending.wanted, breaks)

    def mark(self, mark: Mark, index: int) -> None:
        """Note a part of an if; what is due at its border belongs to what stands before it."""
        self.settle()
        if self.ending.blank and not self.ending.breaks and mark is not Mark.IF:
            self.write(" ")
            self.ending.blank = False
        if mark is Mark.IF:
            self.before[index] = copy_of(self.ending)
        elif mark is Mark.ELSE and index in self.before:
            self.ending = copy_of(self.before[index])
        self.out.append((mark, index))

    def start(self, part: Part) -> None:
        name = part.name
        if name in HIDDEN or HIDING.search(part.get("style")):
            if name not in VOID:
                self.hidden.append(name)
            return
        if name in PARAGRAPHS:
            self.want(2)
        elif name in LINES:
            self.want(1)
        if name in LISTS:
            self.want(1 if self.lists else 2)
            first = part.get("start")
            self.lists.append(
                None if name == "ul" else int(first) if first.isdecimal() and len(first) < 9 else 1
            )
        match name:
            case "li":
                self.item()
            case "br":
                self.line_break()
            case "hr":
                self.want(2)
                self.put(RULE)
                self.want(2)
            case "a":
                self.links.append(Link(part.get("href"), len(self.out)))
            case "img":
                self.say(part.get("alt"))
            case "td" | "th":
                self.ending.cell = not self.ending.breaks and self.ending.wanted == 0
            case "blockquote":
                self.settle()
                self.quotes += 1
            case "pre":
                self.settle()
                self.kept += 1

    def end(self, name: str) -> None:
        if name in PARAGRAPHS:
            self.want(2)
        elif name in LINES:
            self.want(1)
        if name in LISTS and self.lists:
            self.lists.pop()
            self.want(1 if self.lists else 2)
        match name:
            case "a":
                self.end_link()
            case "blockquote":
                self.quotes = max(self.quotes - 1, 0)
            case "pre":
                self.kept = max(self.kept - 1, 0)

    def item(self) -> None:
        """Begin a list's item with its sign or number."""
        self.settle()
        depth = max(len(self.lists) - 1, 0)
        number = self.lists[-1] if self.lists else None
        if number is not None:
            self.lists[-1] = number + 1
        self.write("  " * depth + ("- " if number is None else f"{number}. "))
        self.ending.breaks = 1
        self.ending.blank = False

    def end_link(self) -> None:
        """Write where a link leads, unless its words say that already."""
        if not self.links:
            return
        link = self.links.pop()
        href = re.sub(r"[\x00-\x20]+", "", unescape(link.href))
        said = "".join(link.said)
        if not href or href.startswith("#") or said in (href, href.removeprefix("mailto:")):
            return
        pieces = nest(
            split(href, words=self.words, meaning=self.meaning, contexts=PLAIN_LINK), meaning=self.meaning
        )
        blank = self.ending.blank
        self.ending.blank = bool(said)
        self.put("(" if said else "")
        self.out.extend(pieces)
        self.write(")" if said else "")
        self.ending.blank = blank
        self.ending.column += len(href)


def copy_of(ending: Ending) -> Ending:
    return Ending(ending.breaks, ending.wanted, ending.blank, ending.column, ending.cell)
