"""Markdown with words in it to HTML with the same words, each if standing round whole elements where it can."""

import re
from collections import Counter
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from campaigns.content.meaning import Meaning
from campaigns.content.words import Words

# Markdown takes these for punctuation, so that emphasis may begin right after an if.
LEFT, RIGHT = "⸢", "⸣"
BRACKETS = re.compile(r"[⸢⸣]|%E2%B8%A[23]")
MARK_LINE = re.compile(r"(?:⸢\w+⸣\s*)+")
MARK_ROW = re.compile(r"<tr>\n<td[^<>]*>((?:⸢\w+⸣)+)</td>\n(?:<td[^<>]*></td>\n)*</tr>\n")
DELIMITER = re.compile(r"[\s|:-]*-[\s|:-]*")
ANY_MARK = re.compile(r"⸢mk[0-9a-f]{12}([sef])(\d{4}z)⸣")
BETWEEN_LISTS = re.compile(r"</(ul|ol)>\n⸢(\w+)⸣\n<\1(?: start=\"\d+\")?>")
BEGINS_A_BLOCK = re.compile(r"\s*(?:[-*+]\s|\d{1,9}[.)]\s|#{1,6}\s|>|\||```|~~~|<)")
BLANK_LINE = re.compile(r"\n[ \t]*\n")


def mark_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take a line that holds only marks as a block of its own."""
    line = line_of(state, start)
    if not line.startswith(LEFT) or state.is_code_block(start) or not MARK_LINE.fullmatch(line):
        return False
    if state.parentType == "table" and is_row(state, start):
        return False
    if not silent:
        state.line = start + 1
        token = state.push("html_block", "", 0)
        token.map = [start, state.line]
        token.content = line.strip() + "\n"
    return True


def is_row(state: StateBlock, number: int) -> bool:
    """Say whether a line of marks below a table's row holds or began with a row, and so belongs to the table."""
    mark = ANY_MARK.match(line_of(state, number))
    if mark is None:
        return False
    if mark[1] == "s":
        return number + 1 < state.lineMax and line_of(state, number + 1).startswith(("|", LEFT))
    for above in range(number - 1, -1, -1):
        line = line_of(state, above)
        if DELIMITER.fullmatch(line):
            return False
        if line.startswith(LEFT) and f"s{mark[2]}" in line:
            return True
    return False


def line_of(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def engine() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    markdown.block.ruler.before(
        "table", "mark", mark_rule, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    # mdurl fills its tables at the first link, where other threads can see them half full: an error, or wrong addresses.
    markdown.render("[link](https://www.example.com/) <https://www.example.com/%C3%A9>")
    return markdown


ENGINE = engine()


def to_html(text: str, *, words: Words, meaning: Meaning) -> str:
    """Return the HTML of Markdown that holds words."""
    text = BRACKETS.sub("", text)
    text = words.marks.sub(rf"{LEFT}\g<0>{RIGHT}", text)
    text = re.sub(rf"<({words.variables.pattern})>", lambda match: linked(match, meaning), text)
    html = str(ENGINE.render(on_own_lines(text, words=words)))
    html = MARK_ROW.sub(r"\1\n", html)
    return BRACKETS.sub("", join_lists(html, words=words, meaning=meaning))


def linked(match: re.Match[str], meaning: Meaning) -> str:
    """Return the Markdown link for a tag in angle brackets, which Markdown would take for HTML."""
    scheme = "mailto:" if meaning.variables[int(match[2])].source == "email" else ""
    return f"[{match[1]}]({scheme}{match[1]})"


def on_own_lines(text: str, *, words: Words) -> str:
    """Return `text` with the parts of an if on lines of their own where it holds whole paragraphs, items or rows."""
    marks: dict[str, list[tuple[int, int]]] = {}
    marked = re.compile(rf"{LEFT}{words.marks.pattern}{RIGHT}")
    for match in marked.finditer(text):
        marks.setdefault(match[2], []).append(match.span())
    breaks: set[tuple[int, str]] = set()
    for spans in marks.values():
        indent = block_indent(text, spans)
        if indent is not None:
            breaks |= {(place, f"\n{indent}") for span in spans for place in span}
    for place, inserted in sorted(breaks, reverse=True):
        before, after = text[:place], text[place:]
        if not re.search(r"(?:^|\n)[ \t]*\Z", before[-200:]) and after.strip(" \t")[:1] not in ("\n", ""):
            text = f"{before}{inserted}{after}"
    return text


def block_indent(text: str, spans: Sequence[tuple[int, int]]) -> str | None:
    """Return the indent of an if that holds whole blocks, or None for one within a line."""
    start, end = spans[0][0], spans[-1][1]
    line_start = text.rfind("\n", 0, start) + 1
    indent = text[line_start:start]
    line_end = text.find("\n", end)
    rest = text[end : line_end if line_end >= 0 else len(text)]
    ends_alone = not text[text.rfind("\n", 0, spans[-1][0]) + 1 : spans[-1][0]].strip()
    if not is_only_marks(indent) or not (is_only_marks(rest) or ends_alone):
        return None
    inside = text[start:end]
    first = text[spans[0][1] : spans[1][0]] if len(spans) > 1 else ""
    previous = text[text.rfind("\n", 0, max(line_start - 1, 0)) + 1 : max(line_start - 1, 0)]
    following = text[line_end + 1 : text.find("\n", line_end + 1)] if line_end >= 0 else ""
    alone = is_only_marks(previous) and is_only_marks(following)
    if alone or BLANK_LINE.search(inside) or BEGINS_A_BLOCK.match(first):
        return indent if not indent.strip() else ""
    return None


def is_only_marks(line: str) -> bool:
    return not line.strip() or MARK_LINE.fullmatch(line.strip()) is not None


def join_lists(html: str, *, words: Words, meaning: Meaning) -> str:
    """Return `html` with a list that an if had cut in pieces as one list again."""

    def index(match: re.Match[str]) -> int:
        found = words.marks.fullmatch(match[2])
        return int(found[2]) if found else -1

    cuts = Counter(index(match) for match in BETWEEN_LISTS.finditer(html))

    def join(match: re.Match[str]) -> str:
        at = index(match)
        whole = at >= 0 and cuts[at] == len(meaning.blocks[at].conditions) + 1
        return match[2] if whole else match[0]

    return BETWEEN_LISTS.sub(join, html)
