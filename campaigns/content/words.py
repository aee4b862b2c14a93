"""The opaque words that stand for merge tags while other tools work on the text."""

import hashlib
import re
from enum import StrEnum


class Mark(StrEnum):
    """What a word stands for."""

    VARIABLE = "v"
    IF = "s"
    ELSE = "e"
    ENDIF = "f"


class Words:
    """Makes and finds the words of one text; no text can hold one by itself, as they depend on all of it."""

    def __init__(self, *texts: str) -> None:
        digest = hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()
        self.stem = f"mk{digest[:12]}"
        self.any = re.compile(rf"{self.stem}([vsef])(\d{{4}})z")
        self.marks = re.compile(rf"{self.stem}([sef])(\d{{4}})z")
        self.variables = re.compile(rf"{self.stem}v(\d{{4}})z")

    def word(self, mark: Mark, index: int) -> str:
        return f"{self.stem}{mark}{index:04d}z"
