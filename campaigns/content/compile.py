"""What an author wrote to a mail that a provider can send."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from campaigns.content import markdown
from campaigns.content.body import prepare
from campaigns.content.compiled import Compiled, Plan
from campaigns.content.document import Document, has_link
from campaigns.content.errors import ContentError
from campaigns.content.layout import inline_styles, lay_out
from campaigns.content.lines import break_lines
from campaigns.content.markup import Kind, Part, scan
from campaigns.content.meaning import Meaning, Variable
from campaigns.content.merge import Language, Reader
from campaigns.content.people import BUILT_IN, Getter, fold, unsubscribe_url_of
from campaigns.content.pieces import (
    WRITERS,
    Context,
    Misplaced,
    Piece,
    Pieces,
    Slot,
    getter,
    joined,
    nest,
    slot,
    split,
)
from campaigns.content.sizes import LARGEST, LARGEST_WRITTEN, over_the_limit, too_large, warnings
from campaigns.content.source import Source
from campaigns.content.text import Writer
from campaigns.content.words import Mark, Words
from mailkoenig.providers.types import Dialect

LONGEST_LINE = 1_000
TRAILING = re.compile(r"[ \t]+(?=\n)")
LINK = Variable("unsubscribe_url", 0, unsubscribe_url_of, is_link=True, names=frozenset({"unsubscribe_url"}))


def compile(source: Source, *, dialect: Dialect, known: frozenset[str] | None = None) -> Compiled:
    """Return the mail ready to send.

    `known` are the attributes that the audience has; None allows any. Raises ContentError for the first problem.
    """
    compiler = Compiler(source, dialect=dialect, known=known)
    problems = compiler.read()
    if problems:
        raise problems[0]
    return compiler.build()


def check(source: Source, *, dialect: Dialect, known: frozenset[str] | None = None) -> list[ContentError]:
    """Return every problem of a mail at once, as far as one does not hide another."""
    compiler = Compiler(source, dialect=dialect, known=known)
    problems = compiler.read()
    if problems:
        return problems
    try:
        compiler.build()
    except ContentError as error:
        return [error]
    return []


class Compiler:
    """Compiles one mail."""

    def __init__(self, source: Source, *, dialect: Dialect, known: frozenset[str] | None) -> None:
        self.source = replace(source, subject=fold(source.subject), preheader=fold(source.preheader))
        self.dialect = dialect
        self.language = Language(dialect, known, {"name": fold(source.name_fallback)})
        self.meaning = Meaning()
        self.fields: dict[str, str] = {}

    def read(self) -> list[ContentError]:
        """Read the merge tags of every field and return what is wrong with them."""
        problems = self.bounds()
        if problems:
            return problems
        self.words = Words(self.source.subject, self.source.preheader, self.source.body)
        for name in ("subject", "preheader", "body"):
            is_html = name == "body" and self.source.body_format == "html"
            reader = Reader(
                field=name, words=self.words, meaning=self.meaning, language=self.language, is_html=is_html
            )
            text = getattr(self.source, name)
            self.fields[name] = reader.read(storable(text))
            problems += reader.problems
        return problems

    def bounds(self) -> list[ContentError]:
        """Return what is wrong with the sizes; nothing else is looked at then."""
        source, problems = self.source, []
        if not source.subject:
            problems.append(ContentError("it is empty: write one.", field="subject"))
        for name in ("subject", "preheader"):
            if len(getattr(source, name)) > LONGEST_LINE:
                problems.append(
                    ContentError(f"it is longer than {LONGEST_LINE:,} characters: shorten it.", field=name)
                )
        if source.body_format not in LARGEST_WRITTEN:
            problems.append(ContentError(f"there is no format “{source.body_format}”.", field="body"))
        elif problem := too_large(source.body, source.body_format):
            problems.append(problem)
        return problems

    def build(self) -> Compiled:
        """Return the compiled mail; raises ContentError."""
        subject = self.line("subject", Context.SUBJECT)
        self.line("preheader", Context.PLAIN)
        parts = self.document()
        html = Document(words=self.words, meaning=self.meaning).read(parts)
        try:
            text = tidy(Writer(words=self.words, meaning=self.meaning).read(parts))
        except Misplaced as misplaced:
            raise misplaced.as_error("body") from misplaced
        if self.source.is_marketing and not has_link(text):
            label = self.source.unsubscribe_label
            text = joined([*text, f"\n\n{label}: ", slot(LINK, Context.PLAIN), "\n"])
        return self.assemble(subject=subject, html=html, text=text)

    def line(self, name: str, context: Context) -> Pieces:
        """Return the pieces of a field that is one line."""
        contexts = (context, context)
        try:
            return nest(
                split(self.fields[name], words=self.words, meaning=self.meaning, contexts=contexts),
                meaning=self.meaning,
            )
        except Misplaced as misplaced:
            raise misplaced.as_error(name) from misplaced

    def document(self) -> list[Part]:
        """Return the finished document, still with words, in parts."""
        is_html = self.source.body_format == "html"
        body = self.fields["body"]
        if not is_html:
            body = markdown.to_html(body, words=self.words, meaning=self.meaning)
        body = prepare(body, words=self.words, meaning=self.meaning, keeps_lines=is_html)
        parts = self.laid_out(body, link="")
        if self.source.is_marketing and not self.has_own_link(parts):
            parts = self.laid_out(body, link=self.link_word())
            if not self.has_own_link(parts):
                raise ContentError(
                    "its HTML hides the unsubscribe link: close the tags that are open.", field="body"
                )
        return parts

    def laid_out(self, body: str, *, link: str) -> list[Part]:
        document = inline_styles(
            lay_out(
                body,
                source=self.source,
                subject=self.fields["subject"],
                preheader=self.fields["preheader"],
                link=link,
            )
        )
        document = self.untracked(document)
        if len(document) > LARGEST:
            raise over_the_limit(len(document))
        return list(scan(break_lines(document, list(scan(document)))))

    def has_own_link(self, parts: Iterable[Part]) -> bool:
        """Say whether everybody finds the unsubscribe link in the author's own body."""
        return has_link(
            Document(words=self.words, meaning=self.meaning).read(list(only_anchors(parts, self.words)))
        )

    def untracked(self, document: str) -> str:
        """Return the document with unsubscribe links that the provider leaves as they are."""
        if LINK not in self.meaning.variables or not self.dialect.untracked:
            return document
        to_leave = re.compile(rf'<a (?=[^<>]*\bhref="{self.link_word()}")')
        return to_leave.sub(f"<a {self.dialect.untracked} ", document)

    def link_word(self) -> str:
        if LINK not in self.meaning.variables:
            self.meaning.variables.append(LINK)
        return self.words.word(Mark.VARIABLE, self.meaning.variables.index(LINK))

    def assemble(self, *, subject: Pieces, html: Pieces, text: Pieces) -> Compiled:
        keys: dict[Piece, str] = {}
        parts = tuple(alternating(pieces, keys) for pieces in (subject, html, text))
        self.refuse_mistaken(parts)
        written = [
            "".join(
                self.dialect.placeholder(piece) if index % 2 else piece for index, piece in enumerate(part)
            )
            for part in parts
        ]
        compiled = Compiled(
            subject=written[0],
            html=written[1],
            text=written[2],
            keys=tuple(keys.values()),
            attributes=frozenset(self.meaning.names - set(BUILT_IN)),
            without_default=tuple(sorted(self.meaning.without_default)),
            warnings=warnings(html_size=len(written[1].encode())),
            plan=plan(keys),
            parts=parts,
        )
        if compiled.size > LARGEST:
            raise over_the_limit(compiled.size)
        return compiled

    def refuse_mistaken(self, parts: Sequence[Sequence[str]]) -> None:
        """Refuse what only became the provider's own variable on the way, from an entity or a broken-up word."""
        for name, part in zip(("subject", "body", "body"), parts, strict=True):
            for literal in part[::2]:
                if match := self.dialect.mistaken.search(literal):
                    shown = literal[match.start() :][:40].split()[0]
                    raise ContentError(
                        f"the provider would replace {shown} itself: take it out.", field=name, tag=shown
                    )


def storable(text: str) -> str:
    """Return `text` with plain line breaks, and without zeros and halves of characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return text.encode("utf-8", "replace").decode()


def only_anchors(parts: Iterable[Part], words: Words) -> Iterator[Part]:
    """Yield the parts with nothing in their tags but where anchors lead."""
    for part in parts:
        if part.kind is Kind.START and part.name != "a":
            yield Part(part.kind, "", part.start, part.name)
        elif part.kind is Kind.COMMENT and not words.marks.fullmatch(part.source[4:-3]):
            continue
        elif part.kind is not Kind.RAW:
            yield part


def alternating(pieces: Pieces, keys: dict[Piece, str]) -> tuple[str, ...]:
    """Return literals and, between each two, the key of a piece, which is added to `keys` where it is new."""
    result = [""]
    for piece in pieces:
        if isinstance(piece, str):
            result[-1] += piece
        else:
            result += [keys.setdefault(piece, f"v{len(keys)}"), ""]
    return tuple(result)


def plan(keys: Mapping[Piece, str]) -> Plan:
    """Return what is to be computed; a value that stands in several contexts only once."""
    shared: dict[Variable, list[tuple[str, Callable[[str], str]]]] = {}
    rest: list[tuple[Getter, tuple[tuple[str, Callable[[str], str]], ...]]] = []
    for piece, key in keys.items():
        if isinstance(piece, Slot):
            shared.setdefault(piece.variable, []).append((key, WRITERS[piece.context]))
        else:
            rest.append((getter(piece), ((key, str),)))
    return (*((variable.value, tuple(outputs)) for variable, outputs in shared.items()), *rest)


def tidy(pieces: Pieces) -> Pieces:
    """Return the text part without blanks at the ends of lines and with one line break at its own end."""
    tidied = [TRAILING.sub("", piece) if isinstance(piece, str) else piece for piece in pieces]
    if tidied and isinstance(tidied[-1], str):
        tidied[-1] = tidied[-1].rstrip()
    return joined([*tidied, "\n"])
