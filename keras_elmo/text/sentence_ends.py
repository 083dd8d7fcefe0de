"""Cuts long lines where sentences end."""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")

# Tokens at the ends of rows that are looked at once.
_REMEMBERED_MARKS = 1 << 16
# The marks that end a sentence, and those that may follow them.
_FINAL = (".", "!", "?", "…", "。", "！", "？")
_CLOSING = "\"'”’»)]}」』）】"


class Marks(NamedTuple):
    """What a token has to do with the end of a sentence."""

    # Whether it begins with a final or a closing mark, has closing marks alone, and
    # ends with a final mark, closing ones left out.
    begins: bool
    closes: bool
    ends: bool


@functools.lru_cache(_REMEMBERED_MARKS)
def marks_of(token: bytes) -> Marks:
    """Returns the marks of a token."""
    text = token.decode(errors="replace")
    before = text.rstrip(_CLOSING)
    return Marks(
        text.startswith((*_FINAL, *_CLOSING)), not before, before.endswith(_FINAL)
    )


def split_sentence(
    tokens: Sequence[T], limit: int, marks: Callable[..., Marks] = marks_of
) -> list[Sequence[T]]:
    """Splits a line into rows of at most `limit` tokens.

    A row ends at the last end of a sentence in its second half, else at the limit.
    `marks` is `marks_of`, or returns the same for what stands for a token.
    """
    rows = []
    start = 0
    while len(tokens) - start > limit:
        end = start + limit
        for place in range(end, start + limit // 2, -1):
            if _ends_sentence(tokens, start, place, marks):
                end = place
                break
        rows.append(tokens[start:end])
        start = end
    rows.append(tokens[start:])
    return rows


def _ends_sentence(
    tokens: Sequence[T], start: int, place: int, marks: Callable[..., Marks]
) -> bool:
    """Whether a sentence that begins after `start` ends before `place`."""
    # The marks of "?!" and of '."' stay together.
    if marks(tokens[place]).begins:
        return False
    last = place - 1
    while last > start and marks(tokens[last]).closes:
        last -= 1
    return marks(tokens[last]).ends
