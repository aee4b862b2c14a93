"""One case of the drill."""

from collections.abc import Callable
from typing import NamedTuple

from mailkoenig.rehearsal.stage import Stage


class Case(NamedTuple):
    """What goes wrong, and how to play it: `play` returns when the campaign is over."""

    name: str
    what: str
    play: Callable[[Stage], None]
    has_own_server: bool = False
    """It restarts PostgreSQL, so it plays on a server of its own."""
