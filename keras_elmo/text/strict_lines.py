"""The lines of files in which every line counts, with their numbers."""

import reprlib
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO, NoReturn, TypeAlias

from keras_elmo.text.lines import BYTE_ORDER_MARK, read_lines, text_lines
from keras_elmo.text.stats import CorpusStats

# A line and its number, from 1 on.
Line: TypeAlias = tuple[int, str]


def strict_lines(path: str, stream: BinaryIO | None = None) -> Iterator[Line]:
    """Yields the lines of a file, blank ones included, with their numbers.

    Args:
        path: of UTF-8 text; plain, `.gz` or `.xz`.
        stream: what is read instead; `path` is its name in messages.

    Raises:
        ValueError: a line is not UTF-8, or has a NUL or a CR.
    """
    stats = CorpusStats()
    if stream is None:
        lines = read_lines([path], stats, keep_blank=True)
    else:
        first = stream.readline().removeprefix(BYTE_ORDER_MARK)
        lines = text_lines(chain([first] if first else [], stream), stats, True)
    for number, line in enumerate(lines, 1):
        if stats.invalid_lines or stats.lines_with_nul:
            refuse_line(path, number, "be UTF-8 text without NULs", line)
        if "\r" in line:
            rule = (
                r"hold no CR but at its end (`tr '\r' '\n'` converts old Macs' files)"
            )
            refuse_line(path, number, rule, line)
        yield number, line


def refuse_line(path: str, number: int, rule: str, line: object) -> NoReturn:
    """Raises the `ValueError` of a line that breaks a rule."""
    shown = reprlib.repr(line)
    raise ValueError(f"{path}, line {number}: must {rule}. Received: {shown}")
