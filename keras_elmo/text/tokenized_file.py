"""The tokens of a text file, line by line."""

from collections.abc import Iterator

from keras_elmo.text.lines import read_lines
from keras_elmo.text.report import Report
from keras_elmo.text.token_chunks import TOKENIZER_THREADS, lines_of, token_chunks


class TokenizedFile:
    """Yields the tokens of each line, also of blank ones; each iteration begins anew.

    Some lines are read while those before them are used.

    Args:
        path: of the text; plain, .gz or .xz.
        tokenizer: the kind of `Tokenizer`.

    Attributes:
        path: as given.
        position: bytes of the file, as it lies on the disk, that the latest iteration
            has read.
        report: what it has met, right when an iteration has ended.
    """

    def __init__(self, path: str, tokenizer: str) -> None:
        self.path = path
        self.position = 0
        self.report = Report()
        self._tokenizer = tokenizer

    def __iter__(self) -> Iterator[list[bytes]]:
        self.position = 0
        self.report = Report()
        lines = read_lines([self.path], self.report, self._advance, keep_blank=True)
        chunks = token_chunks(lines, self._tokenizer, self.report, TOKENIZER_THREADS)
        return lines_of(chunks)

    def _advance(self, count: int) -> None:
        self.position += count
