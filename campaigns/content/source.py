"""What an author wrote."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A mail before it is compiled. Subject, preheader and body may hold merge tags."""

    subject: str
    preheader: str
    body: str
    body_format: str
    """markdown or html."""
    sender: str = ""
    """Who sends it, for the layout's footer: a name and an address, on one line or several."""
    lang: str = "en"
    name_fallback: str = "there"
    """What {{ name }} says of a person without one, where the tag has no default of its own."""
    unsubscribe_label: str = "Unsubscribe"
    is_marketing: bool = True
    """Whether everybody who gets it must find the unsubscribe link; a receipt has none."""
