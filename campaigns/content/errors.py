"""What an author can mend."""

from mailkoenig.lib.command import UserError


class ContentError(UserError):
    """The text can't be sent as it is; the message says what is wrong and what to write instead."""

    def __init__(self, problem: str, *, field: str, line: int | None = None, tag: str | None = None) -> None:
        place = field.capitalize() if line is None or field != "body" else f"Body, line {line}"
        super().__init__(f"{place}: {problem}")
        self.problem = problem
        self.field = field
        """subject, preheader or body."""
        self.line = line
        self.tag = tag
        """The tag as the author wrote it."""
