"""The vectors of a text, part by part."""

import math
import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from keras_elmo.embedding.embedder import Embedder, windows
from keras_elmo.embedding.options import EmbedOptions
from keras_elmo.embedding.parts import PartFolder
from keras_elmo.files.sources import AnyEncoder
from keras_elmo.text.batching import TokenizedFile, Tokens

# Sentences in a batch: a step of many rows costs little more than one of few.
BATCH_SIZE = 128
# The words of so many positions at the beginning of a text are cached; others are
# computed in each part. A part so depends on nothing but these words and itself.
_CACHED_POSITIONS = 524_288


class Part(NamedTuple):
    """Lines of a text.

    Attributes:
        path: of the part.
        lines: the tokens of each line.
        vectors: of each line; `None` if the part exists.
        position: bytes of the text up to the end of the part.
    """

    path: str
    lines: list[Tokens]
    vectors: list[np.ndarray] | None
    position: int


def expected_bytes(
    text: TokenizedFile, encoder: AnyEncoder, options: EmbedOptions
) -> int:
    """Returns about how many bytes of vectors a text has, judged by its first part."""
    window = next(windows(text, BATCH_SIZE))
    by_token = options.rows == "tokens"
    shape = options.shape(encoder.config)
    one = math.prod(shape) * np.dtype(options.dtype).itemsize
    # The position is that before the last line.
    lines, scale = window, 1.0
    if text.position:
        lines, scale = window[:-1], os.path.getsize(text.path) / text.position
    return round(scale * one * (sum(map(len, lines)) if by_token else len(lines)))


def compute_parts(
    text: TokenizedFile,
    encoder: AnyEncoder,
    mix: np.ndarray | None,
    parts: PartFolder | None = None,
) -> Iterator[Part]:
    """Yields the parts of a text in order, and computes those that are missing."""
    embedder: Embedder | None = None
    first_line = positions = 0
    for window in windows(text, BATCH_SIZE):
        path = parts.part(first_line, window) if parts else ""
        keep_words = positions < _CACHED_POSITIONS
        vectors = None
        if not os.path.exists(path):
            embedder = embedder or _embedder(encoder, text, first_line)
            saved = parts.batches(path) if parts else None
            vectors = embedder.embed_window(window, BATCH_SIZE, mix, keep_words, saved)
        elif embedder and keep_words:
            embedder.cache_words(window)
        yield Part(path, window, vectors, text.position)
        first_line += len(window)
        positions += _positions(window)


def _embedder(encoder: AnyEncoder, text: TokenizedFile, end: int) -> Embedder:
    """Returns an embedder that knows the first words of the lines before `end`."""
    embedder = Embedder(encoder)
    first_line = positions = 0
    before = TokenizedFile(text.path, text.tokenizer)
    for window in windows(before, BATCH_SIZE) if end else ():
        if first_line == end or positions >= _CACHED_POSITIONS:
            break
        embedder.cache_words(window)
        first_line += len(window)
        positions += _positions(window)
    return embedder


def _positions(window: list[Tokens]) -> int:
    return sum(len(tokens) + 2 for tokens in window)
