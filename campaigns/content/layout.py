"""The body in its layout, with the styles of the layout and the author on the elements themselves."""

import re
from html import escape

import css_inline
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from campaigns.content.source import Source

FULL_DOCUMENT = re.compile(r"\s*(?:<!--.{0,2000}?-->\s*)*<(?:!doctype|html)\b", re.IGNORECASE | re.DOTALL)
BODY_START = re.compile(r"<body\b[^>]*>", re.IGNORECASE)
BODY_END = re.compile(r"</body\s*>", re.IGNORECASE)
# After the preheader, so that an inbox does not go on with the body's first words.
PADDING = "&#847;&zwnj;&nbsp;" * 60

# Nothing is ever fetched or read from a file: an author's <link> is dropped.
INLINER = css_inline.CSSInliner(load_remote_stylesheets=False, keep_at_rules=True)


def lay_out(body: str, *, source: Source, subject: str, preheader: str, link: str) -> str:
    """Return the whole document. `link` is the unsubscribe link, or empty where the body has one itself."""
    if FULL_DOCUMENT.match(body):
        return complete(body, source=source, preheader=preheader, link=link)
    return render_to_string(
        "campaigns/email/layout.html",
        {
            # Markdown has no colours of its own; in an author's HTML a dark page could hide dark words.
            "is_prose": source.body_format == "markdown",
            "body": mark_safe(body),  # noqa: S308  # the author's own markup, already checked
            "subject": subject,
            "preheader": preheader,
            "padding": mark_safe(PADDING),  # noqa: S308  # ours
            "unsubscribe_url": link,
            "unsubscribe_label": source.unsubscribe_label,
            "sender": source.sender,
            "lang": source.lang,
        },
    )


def complete(document: str, *, source: Source, preheader: str, link: str) -> str:
    """Return an author's own document with what it lacks: the hidden preheader and the unsubscribe link."""
    if preheader:
        start = BODY_START.search(document)
        place = start.end() if start else len(document)
        hidden = f'<div style="display:none;max-height:0;overflow:hidden">{escape(preheader)}{PADDING}</div>'
        document = document[:place] + hidden + document[place:]
    if link:
        footer = f'<p style="text-align:center;font-size:13px"><a href="{link}">{escape(source.unsubscribe_label)}</a></p>'
        ends = list(BODY_END.finditer(document))
        place = ends[-1].start() if ends else len(document)
        document = document[:place] + footer + document[place:]
    return document


def inline_styles(document: str) -> str:
    """Return the document as a parser reads it, with its style rules on the elements."""
    return str(INLINER.inline(document))
