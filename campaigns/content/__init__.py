"""Campaign content: what an author wrote, compiled once to a mail that a provider fills in for each person."""

from campaigns.content.compile import check, compile
from campaigns.content.compiled import Compiled, is_mistaken
from campaigns.content.errors import ContentError
from campaigns.content.filters import FILTERS
from campaigns.content.people import BUILT_IN, Person, Rendered
from campaigns.content.source import Source

__all__ = [
    "BUILT_IN",
    "FILTERS",
    "Compiled",
    "ContentError",
    "Person",
    "Rendered",
    "Source",
    "check",
    "compile",
    "is_mistaken",
]
