"""Numbers of things, as people say them."""


def many(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: 1 person, 2,000 people. Without a `plural` the noun takes an s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def people(count: int) -> str:
    """Return a number of people: 1 person, 2,000 people."""
    return many(count, "person", "people")
