"""Who answers which path."""

from typing import Protocol

from mailkoenig.simulator import answers
from mailkoenig.simulator.http import Reply, Request


class Part(Protocol):
    """Answers some paths."""

    def answer(self, request: Request) -> Reply | None:
        """Answer, or None where the path is somebody else's."""
        ...


class Router:
    """Asks each part in turn; what nobody answers gets the provider's cheerful 200."""

    def __init__(self, *parts: Part) -> None:
        self._parts = parts

    def __call__(self, request: Request) -> Reply:
        for part in self._parts:
            reply = part.answer(request)
            if reply is not None:
                return reply
        return answers.magnificent()
