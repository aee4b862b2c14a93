"""How large a mail may be, before any work is done on it and after."""

import re

from campaigns.content.errors import ContentError

# Of the 25 MB that Mailgun takes, less room for its own encoding, headers and the values.
LARGEST = 17_000_000
LARGEST_WRITTEN = {"markdown": 200_000, "html": 1_000_000}
EMBEDDED = re.compile(r"data:image/[^\s\"')>]*")
CLIPPED = 90_000


def too_large(body: str, body_format: str) -> ContentError | None:
    """Return what is wrong with the size of a body, if anything."""
    size = len(body.encode("utf-8", "replace"))
    if size > LARGEST:
        return over_the_limit(size)
    written, most = (
        size - sum(len(match[0]) for match in EMBEDDED.finditer(body)),
        LARGEST_WRITTEN[body_format],
    )
    if written > most:
        return ContentError(
            f"it has {written / 1000:,.0f} kB without its images; {body_format} can have {most / 1000:,.0f} kB: "
            "shorten it, as readers see about 100 kB at most.",
            field="body",
        )
    return None


def over_the_limit(size: int) -> ContentError:
    return ContentError(
        f"the mail has {size / 1e6:.1f} MB; the provider takes 25 MB at most, which leaves {LARGEST / 1e6:.0f} MB "
        "before it is encoded: put images on a web server and link to them.",
        field="body",
    )


def warnings(*, html_size: int) -> tuple[str, ...]:
    if html_size <= CLIPPED:
        return ()
    return (f"The HTML part has {html_size / 1000:.0f} kB; Gmail cuts a mail off at about 100 kB.",)
