"""A file of distinct words, one per line, in UTF-8."""

from collections.abc import Iterable, Iterator

import numpy as np

from keras_elmo.utils.files import replacing
from keras_elmo.utils.reading import reading

_READ_BYTES = 1 << 16


class DistinctWords:
    """A sequence of words, mapped into memory: their number costs 8 bytes a word."""

    def __init__(self, path: str) -> None:
        self._path = path
        with reading(path):
            self._bytes = np.asarray(np.memmap(path, "uint8", mode="r"))
        self._ends = np.flatnonzero(self._bytes == ord("\n"))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: int) -> bytes:
        start = self._ends[number - 1] + 1 if number else 0
        return self._bytes[start : self._ends[number]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        return read_words(self._path)

    def num_bytes(self) -> np.ndarray:
        """Returns the number of bytes of each word."""
        return np.diff(self._ends, prepend=-1) - 1


def read_words(path: str) -> Iterator[bytes]:
    """Yields the words of a file, which is open only while a block of it is read.

    So a process can read more files at a time than it may have open.
    """
    position = 0
    while True:
        with open(path, "rb") as file:
            file.seek(position)
            lines = file.readlines(_READ_BYTES)
            position = file.tell()
        if not lines:
            return
        for line in lines:
            yield line.removesuffix(b"\n")


def write_words(path: str, words: Iterable[bytes]) -> None:
    """Writes a file of words, which hold no line end."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        for word in words:
            file.write(word + b"\n")
