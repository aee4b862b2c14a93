"""Line breaks in place of blanks that mean nothing, as mail may have no line of over 998 octets."""

from bisect import bisect_right
from collections.abc import Sequence

from campaigns.content.markup import Kind, Part

LONGEST = 700


def break_lines(html: str, parts: Sequence[Part]) -> str:
    """Return `html`, of which `parts` are the parts, with no line longer than need be; its length stays."""
    places = Places(parts)
    pieces: list[str] = []
    done = start = 0
    for line in html.split("\n"):
        end = start + len(line)
        while end - start > LONGEST and (place := places.find(html, start, end)) >= 0:
            pieces += html[done:place], "\n"
            done = start = place + 1
        start = end + 1
    return "".join([*pieces, html[done:]])


class Places:
    """Knows where a blank may become a line break."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.starts = [part.start for part in parts]
        self.kept: list[bool] = []
        depth = 0
        for part in parts:
            if part.name in {"pre", "textarea"}:
                depth += (part.kind is Kind.START) - (part.kind is Kind.END)
            self.kept.append(depth > 0)

    def find(self, html: str, start: int, end: int) -> int:
        """Return the last good blank that keeps the line short, else the first one after; -1 where there is none."""
        place = start + LONGEST
        while (place := html.rfind(" ", start, place)) >= 0:
            if self.is_good(place):
                return place
        place = start + LONGEST - 1
        while (place := html.find(" ", place + 1, end)) >= 0:
            if self.is_good(place):
                return place
        return -1

    def is_good(self, place: int) -> bool:
        index = bisect_right(self.starts, place) - 1
        part = self.parts[index]
        if part.kind is Kind.TEXT:
            return not self.kept[index]
        # A finished document writes name="value", so the name begins right after the blank.
        return part.kind is Kind.START and any(
            attribute.start - len(attribute.name) - 3 == place for attribute in part.attributes
        )
