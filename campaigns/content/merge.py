"""The merge language: Django's tags if, elif, else, firstof and comment, and variables with a few filters.

Everything dynamic in a text becomes an opaque word; what the words stand for is collected in a `Meaning`.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.text import smart_split

from campaigns.content import mistakes
from campaigns.content.errors import ContentError
from campaigns.content.expressions import (
    ConditionParser,
    Expression,
    Refused,
    condition,
    first_of,
    remembered,
)
from campaigns.content.meaning import Block, Meaning, Variable
from campaigns.content.people import BUILT_IN
from campaigns.content.words import Mark, Words
from mailkoenig.providers.types import Dialect

LONGEST_TAG = 500
MOST_TAGS = 500
DEEPEST = 10
MOST_WORDS = 60
MOST_PROBLEMS = 20
OPENERS = re.compile(r"\{[{%#]")
CLOSERS = {"{{": "}}", "{%": "%}", "{#": "#}"}
NAME = re.compile(r"[^\W\d_]\w{0,99}")
TAGS = "if, elif, else, endif, firstof and comment"
# Names that other template systems give to what is none of a mail's business; an attribute may be called so.
FOREIGN = frozenset(
    [
        "request",
        "settings",
        "user",
        "perms",
        "messages",
        "csrf_token",
        "debug",
        "sql_queries",
        "contact",
        "campaign",
        "recipient",
        "self",
        "config",
        "forloop",
        "block",
        "token",
        "password",
        "secret_key",
    ]
)
NEVER = frozenset({"unsubscribe_token"})


@dataclass(frozen=True, slots=True)
class Language:
    """What a text may say."""

    dialect: Dialect
    known: frozenset[str] | None
    fallbacks: dict[str, str]

    @property
    def names(self) -> list[str]:
        return [*BUILT_IN, *sorted(self.known or ())]


class TooManyProblems(Exception):
    """A person mends these first."""


class Reader:
    """Turns the tags of one field into words and collects every problem on the way."""

    def __init__(
        self, *, field: str, words: Words, meaning: Meaning, language: Language, is_html: bool
    ) -> None:
        self.field = field
        self.words = words
        self.meaning = meaning
        self.language = language
        self.is_html = is_html
        self.problems: list[ContentError] = []
        self.line = 1
        self.open: list[int] = []

    def read(self, text: str) -> str:
        """Return `text` with a word in place of each tag."""
        try:
            pieces = list(self.pieces(text))
        except TooManyProblems:
            return ""
        for index in self.open:
            block = self.meaning.blocks[index]
            self.refuse(f"{block.tag} is never closed: write {{% endif %}} after it.", block.tag, block.line)
        return "".join(pieces)

    def pieces(self, text: str) -> Iterator[str]:
        position = 0
        while match := OPENERS.search(text, position):
            yield self.literal(text[position : match.start()])
            end = text.find(CLOSERS[match[0]], match.end(), match.end() + LONGEST_TAG)
            inside = text[match.end() : max(end, match.end())]
            if match[0] == "{#" and (end < 0 or "\n" in inside):
                yield "{#"
                position = match.end()
                continue
            if end < 0 or (match[0] != "{#" and OPENERS.search(inside)):
                shown = text[match.start() :][:30].splitlines()[0]
                self.refuse(f"{shown} is never closed: write {CLOSERS[match[0]]} after it.", shown)
                position = match.end()
                continue
            yield self.tag(match[0], inside)
            yield self.kept_lines(inside)
            position = end + 2
            if match[0] == "{%" and inside.split()[:1] == ["comment"]:
                start, position = position, self.skip_comment(text, position)
                yield self.kept_lines(text[start:position])
        yield self.literal(text[position:])

    def literal(self, text: str) -> str:
        for place, shown, problem in mistakes.find(
            text, names=self.language.names, dialect=self.language.dialect
        ):
            self.refuse(f"{shown} would not work: {problem}", shown, self.line + text.count("\n", 0, place))
        self.line += text.count("\n")
        return text

    def skip_comment(self, text: str, position: int) -> int:
        match = re.compile(r"\{%\s{0,9}endcomment\s{0,9}%\}").search(text, position)
        if not match:
            self.refuse("{% comment %} is never closed: write {% endcomment %} after it.", "{% comment %}")
            return len(text)
        return match.end()

    def kept_lines(self, text: str) -> str:
        """Return the line breaks of what was taken out, where they are harmless, so that line numbers stay right."""
        count = text.count("\n")
        self.line += count
        return "\n" * count if self.is_html else ""

    def tag(self, opener: str, inside: str) -> str:
        """Return the word of one tag, and nothing for a comment or a tag that is refused."""
        shown = f"{opener}{inside}{CLOSERS[opener]}"
        if opener == "{#":
            return ""
        source = " ".join(
            (html.unescape(inside) if self.is_html else inside).replace("\u00a0", " ").split("\n")
        )
        try:
            if len(self.meaning.variables) + len(self.meaning.blocks) >= MOST_TAGS:
                raise Refused(f"a mail can have {MOST_TAGS} different tags at most.")
            return self.variable(source.strip()) if opener == "{{" else self.statement(source.strip(), shown)
        except Refused as refused:
            self.refuse(f"{shown} is refused: {refused}", shown)
            return ""

    def variable(self, source: str) -> str:
        expression = Expression(source)
        names = self.checked(expression)
        is_link = "unsubscribe_url" in names
        if is_link and (self.field != "body" or source != "unsubscribe_url"):
            raise Refused("the link stands in the body only, and without a filter.")
        if not expression.has_default:
            self.note_missing_default(names)
        value = expression.text(fallbacks=self.language.fallbacks)
        return self.add(Variable(source, self.line, value, is_link, names))

    def statement(self, source: str, shown: str) -> str:
        name, _, rest = source.partition(" ")
        parts = list(smart_split(rest))
        if len(parts) > MOST_WORDS:
            raise Refused(f"it has more than {MOST_WORDS} words.")
        match name:
            case "if":
                return self.start(parts, shown)
            case "elif" | "else":
                return self.go_on(parts if name == "elif" else None, shown)
            case "endif":
                if not self.open:
                    raise Refused("there is no {% if %} before it.")
                return self.words.word(Mark.ENDIF, self.open.pop())
            case "firstof":
                expressions = [Expression(part) for part in parts]
                names = frozenset().union(*(self.checked(expression) for expression in expressions))
                if not expressions or "unsubscribe_url" in names:
                    raise Refused('write it like {% firstof name company "there" %}.')
                return self.add(
                    Variable(f"firstof {rest.strip()}", self.line, first_of(expressions), names=names)
                )
            case "comment":
                return ""
            case _:
                raise Refused(f"there is no such tag; there are {TAGS}.")

    def start(self, parts: list[str], shown: str) -> str:
        if len(self.open) >= DEEPEST:
            raise Refused(f"it is more than {DEEPEST} deep.")
        index = len(self.meaning.blocks)
        self.meaning.blocks.append(Block(shown, self.line, [], [], set()))
        self.open.append(index)
        self.add_condition(index, parts)
        return self.words.word(Mark.IF, index)

    def go_on(self, parts: list[str] | None, shown: str) -> str:
        if not self.open or self.meaning.blocks[self.open[-1]].conditions[-1:] == [None]:
            raise Refused("there is no open {% if %} before it.")
        block = self.meaning.blocks[self.open[-1]]
        if parts is None:
            block.conditions.append(None)
            block.sources.append("")
        else:
            self.add_condition(self.open[-1], parts)
        return self.words.word(Mark.ELSE, self.open[-1])

    def add_condition(self, index: int, parts: list[str]) -> None:
        block = self.meaning.blocks[index]
        block.sources.append(" ".join(parts))
        block.conditions.append(never)
        parser = ConditionParser(parts)
        tree = parser.parse()
        names = frozenset[str]().union(*(self.checked(expression) for expression in parser.expressions))
        block.names |= names
        block.conditions[-1] = remembered(condition(tree), names=names)

    def add(self, variable: Variable) -> str:
        variables = self.meaning.variables
        if variable not in variables:
            variables.append(variable)
        return self.words.word(Mark.VARIABLE, variables.index(variable))

    def checked(self, expression: Expression) -> frozenset[str]:
        """Return the names that it reads, each of which exists."""
        names = frozenset(expression.names())
        for name in sorted(names):
            self.check_name(name)
        self.meaning.names |= names
        return names

    def check_name(self, name: str) -> None:
        known = self.language.known
        if "." in name:
            guess = mistakes.closest(name.rpartition(".")[2], self.language.names)
            raise Refused(f"a name has no parts; {guess or 'write it without the dot.'}")
        if not NAME.fullmatch(name) or name in NEVER:
            raise Refused("there is no such name.")
        if name in BUILT_IN or (known is not None and name in known):
            return
        if known is not None:
            guess = mistakes.closest(name, self.language.names)
            raise Refused(f"no contact here has “{name}”; {guess or self.listing()}")
        if name in FOREIGN or name.casefold() in BUILT_IN:
            raise Refused(mistakes.closest(name, self.language.names) or "there is no such name.")

    def listing(self) -> str:
        names = self.language.names
        return f"there are {', '.join(names[:20])}{', …' if len(names) > 20 else '.'}"

    def note_missing_default(self, names: frozenset[str]) -> None:
        guarded: set[str] = set().union(*(self.meaning.blocks[index].names for index in self.open))
        self.meaning.without_default |= names - guarded - {"email", "unsubscribe_url"}

    def refuse(self, problem: str, tag: str, line: int | None = None) -> None:
        if len(self.problems) >= MOST_PROBLEMS:
            raise TooManyProblems
        self.problems.append(ContentError(problem, field=self.field, line=line or self.line, tag=tag))


def never(person: object) -> bool:
    return False
