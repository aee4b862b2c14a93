"""Log lines: an event and its facts as key=value, with addresses taken out."""

import logging
import re

ADDRESS = re.compile(r"[\w.+%'-]+@[\w-]+(?:\.[\w-]+)+")
STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class LineFormatter(logging.Formatter):
    """One line a record: time, level, logger, event, then what `extra` held."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        facts = " ".join(
            f"{key}={value}"
            for key, value in vars(record).items()
            if key not in STANDARD and key != "request"
        )
        return redact(f"{line} {facts}".rstrip())


def redact(text: str) -> str:
    """Return `text` with every e-mail address replaced."""
    return ADDRESS.sub("[address]", text)
