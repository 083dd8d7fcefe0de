"""Text files to pieces that a worker handles at a time."""

import dataclasses
from collections.abc import Iterator
from itertools import islice

from keras_elmo.scale.shared_files import open_file
from keras_elmo.text.lines import read_lines

# A minute or less of a worker's time, which is what its death costs.
_CHUNK_LINES = 1024


@dataclasses.dataclass(frozen=True)
class TextChunk:
    """Some lines of a file, and where they stand in it.

    Attributes:
        path: of the file.
        first_line: the number of the first line, counted from 0.
        lines: with the blank ones.
    """

    path: str
    first_line: int
    lines: list[str]

    def __len__(self) -> int:
        return len(self.lines)


def read_chunks(path: str) -> Iterator[TextChunk]:
    """Yields the pieces of a file; the same file gives the same pieces."""
    lines = read_lines([path], keep_blank=True, open_file=open_file)
    first_line = 0
    while chunk := list(islice(lines, _CHUNK_LINES)):
        yield TextChunk(path, first_line, chunk)
        first_line += len(chunk)
