"""Numbers of things, for messages."""


def counted(count: int, noun: str) -> str:
    """Returns "1 line", or "1,000 lines"."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
