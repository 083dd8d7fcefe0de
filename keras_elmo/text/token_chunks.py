"""Lines to tokens, many at a time: one line at a time costs twenty times as much."""

import os
from collections.abc import Iterable, Iterator
from itertools import pairwise

from keras_elmo.ahead import map_ahead
from keras_elmo.optional import import_tensorflow
from keras_elmo.text.character_ids import MAX_BYTES
from keras_elmo.text.report import Report
from keras_elmo.text.tokenizer import Tokenizer

# Of those who read a whole file and do little else.
TOKENIZER_THREADS = min(4, os.cpu_count() or 1)

# A chunk ends at either: the characters bound the memory, whatever the lines are.
_CHUNK_LINES = 2048
_CHUNK_CHARACTERS = 1_000_000


def token_chunks(
    lines: Iterable[str], tokenizer: str, report: Report, num_threads: int = 0
) -> Iterator[tuple[list[bytes], list[int]]]:
    """Yields the tokens of some lines at a time.

    Args:
        lines: text.
        tokenizer: the kind of `Tokenizer`.
        report: counts the words.
        num_threads: that cut the next chunks while the one before them is used.

    Yields:
        The tokens of n lines one after the other, and n + 1 limits: the k-th line's
        are `tokens[limits[k] : limits[k + 1]]`.
    """
    tf = import_tensorflow("Reading raw text")
    tokenize = Tokenizer(tokenizer).ragged

    def cut(chunk: list[str]) -> tuple[list[bytes], list[int]]:
        # On a GPU machine the index arithmetic would travel there and back.
        with tf.device("CPU"):
            ragged = tokenize(chunk)
            return ragged.values.numpy().tolist(), ragged.row_splits.numpy().tolist()

    for tokens, limits in map_ahead(cut, _chunks(lines), num_threads):
        report.words += len(tokens)
        report.truncated_words += sum(map(MAX_BYTES.__lt__, map(len, tokens)))
        yield tokens, limits


def tokenized_lines(
    lines: Iterable[str], tokenizer: str, report: Report
) -> Iterator[list[bytes]]:
    """Yields the tokens of each line; the arguments are those of `token_chunks`."""
    return lines_of(token_chunks(lines, tokenizer, report))


def lines_of(
    chunks: Iterable[tuple[list[bytes], list[int]]],
) -> Iterator[list[bytes]]:
    """Yields the tokens of each line of chunks."""
    for tokens, limits in chunks:
        for start, end in pairwise(limits):
            yield tokens[start:end]


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    characters = 0
    for line in lines:
        chunk.append(line)
        characters += len(line)
        if len(chunk) == _CHUNK_LINES or characters >= _CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
