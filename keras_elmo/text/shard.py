"""One of the files of a corpus, while it is read."""

import os
from collections.abc import Iterator
from itertools import islice

from keras_elmo.text.lines import read_lines
from keras_elmo.text.report import Report


class Shard:
    """The lines of a file, one at a time, and how far it is read.

    Args:
        path: a text file, as `read_lines` takes it.
        report: counts what is read.
        first: the first line to yield, from 0.
        every: the distance of the lines to yield.

    Attributes:
        share_read: of the bytes of the file as it lies on the disk, 0 to 1.
    """

    def __init__(
        self, path: str, report: Report, first: int = 0, every: int = 1
    ) -> None:
        # Of an empty file nothing is ever read.
        self._size = max(1, os.path.getsize(path))
        self._lines = islice(
            read_lines([path], report, self._advance), first, None, every
        )
        self.share_read = 0.0

    def _advance(self, count: int) -> None:
        self.share_read += count / self._size

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._lines)
