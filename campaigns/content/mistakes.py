"""What an author typed that looks like a merge tag of ours or of another system, and is none."""

import difflib
import re
from collections.abc import Iterable, Iterator

from mailkoenig.providers.types import Dialect

SPLIT = re.compile(r"\{\s+\{[^{}\n]{0,100}\}\s*\}|\{\s*\{[^{}\n]{0,100}\}\s+\}|\{\s+%[^%\n]{1,100}%\s*\}")
FOREIGN = re.compile(r"\*\|[A-Za-z][\w:.]{0,60}\|\*|<%[^%\n]{0,100}%>")
# In another system's brackets, a mistake only where the word is one of our names.
BRACKETED = re.compile(
    r"(?<![{\w])\$?\{\s{0,9}(\w{1,60})\s{0,9}\}(?!\})|\[\[\s{0,9}(\w{1,60})\s{0,9}\]\]|%{1,2}(\w{1,60})%{1,2}"
)


def find(text: str, *, names: Iterable[str], dialect: Dialect) -> Iterator[tuple[int, str, str]]:
    """Yield the place, the text and the complaint of each mistake in text that holds no tags."""
    known = {name.casefold(): name for name in names}
    for match in dialect.mistaken.finditer(text):
        shown = re.match(r"\S{1,60}", text[match.start() :][:60])
        yield (
            match.start(),
            shown[0] if shown else match[0],
            "the provider would replace it itself; write a tag like {{ name }} instead.",
        )
    for match in SPLIT.finditer(text):
        yield match.start(), match[0], "braces of a tag stand together: write it like {{ name }}."
    for match in FOREIGN.finditer(text):
        yield match.start(), match[0], "this is another system's merge tag: write it like {{ name }}."
    for match in BRACKETED.finditer(text):
        name = known.get(next(filter(None, match.groups())).casefold())
        if name:
            yield match.start(), match[0], f"did you mean {{{{ {name} }}}}?"


def closest(name: str, names: Iterable[str]) -> str:
    """Return a question about the name that was perhaps meant, or nothing."""
    spellings = {known.casefold(): known for known in names}
    found = difflib.get_close_matches(name.casefold(), spellings, n=1, cutoff=0.6)
    return f"did you mean {{{{ {spellings[found[0]]} }}}}?" if found else ""
