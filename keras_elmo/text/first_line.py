"""What the name and the first line of a file tell about its form."""

from collections.abc import Iterator
from itertools import chain

from keras_elmo.text.lines import Line


def first_line(
    lines: Iterator[Line], skipped: tuple[str, ...] = ()
) -> tuple[str, Iterator[Line]]:
    """Returns the first line that is not blank, or else the last one, and all lines.

    Lines that begin with one of the strings in `skipped` do not count.
    """
    begun: list[Line] = []
    for line in lines:
        begun.append(line)
        if line[1].strip() and not line[1].startswith(skipped):
            return line[1], chain(begun, lines)
    return begun[-1][1] if begun else "", iter(begun)


def uncompressed(path: str) -> str:
    """Returns the name of a file in lower case, without `.gz` or `.xz`."""
    return path.lower().removesuffix(".gz").removesuffix(".xz")
