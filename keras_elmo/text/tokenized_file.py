"""The tokens of a text file, line by line."""

from collections.abc import Iterator

from keras_elmo.text.lines import read_lines
from keras_elmo.text.report import Report
from keras_elmo.text.token_chunks import tokenized_lines


class TokenizedFile:
    """Yields the tokens of each line, also of blank ones; each iteration begins anew.

    Args:
        path: of the text; plain, .gz or .xz.
        tokenizer: the kind of `Tokenizer`.

    Attributes:
        path: as given.
        position: bytes of the file, as it lies on the disk, that the latest iteration
            has read.
        report: what it has met.
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
        return tokenized_lines(lines, self._tokenizer, self.report)

    def _advance(self, count: int) -> None:
        self.position += count
