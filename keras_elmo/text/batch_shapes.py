"""Few shapes of batches, for backends that compile a program for each shape."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from keras_elmo.text.batching import Tokens, length_batches
from keras_elmo.text.vocabulary import PADDING_ID
from keras_elmo.utils.types import Tensor

# Rows that shapes are chosen from.
_SAMPLE_ROWS = 8192
# Share of the positions of a sample that may be padding. Batches in which rows of two
# lengths meet add less than 1 %.
_MAX_PADDING = 0.07
# Batches of each length that a measured text should have: on a GPU, or for a small
# model, compiling a program takes as long as computing many batches.
_BATCHES_OF_LENGTH = 10
# Longer rows are rounded before they are compared, which takes the square of this.
_MAX_COMPARED = 256
# Room for batches with more distinct words than the batches of the sample; a multiple
# suits products on a GPU.
_MORE_WORDS = 1.1
_MULTIPLE = 64


def rounded_up(size: int) -> int:
    """Returns the next of a few sizes: powers of two and, from 8 on, some between.

    Those are the multiples of 8 up to 64, and then eighths of the next power of two.
    """
    power = 1 << (size - 1).bit_length()
    step = min(power, max(8, power // 8))
    return -(-size // step) * step


class BatchShapes(NamedTuple):
    """The shapes of batches that list each distinct word once.

    Attributes:
        lengths: numbers of positions that a row may have, ascending. A batch takes the
            first that holds its longest row, and as many rows as it has room for; if
            there are none, only its shorter rows are padded.
        num_words: number of words that a batch lists, the masked one and padding
            included; a batch with more distinct words lists as many as it has
            positions. If it is 0, a batch lists just its own words.
    """

    lengths: tuple[int, ...] = ()
    num_words: int = 0

    def padded_length(self, positions: int) -> int:
        """Returns the number of positions that a row is padded to."""
        place = bisect_left(self.lengths, positions)
        return self.lengths[place] if place < len(self.lengths) else positions

    def masked_batches(
        self, batch_tokens: int, num_ids: int
    ) -> list[dict[str, np.ndarray]]:
        """Returns an empty batch of each shape, unless batches list their own words."""
        empty = {
            "words": np.zeros((0, num_ids), "int32"),
            "positions": np.zeros((0, 0), "int32"),
            "token_ids": np.zeros((0, 0), "int32"),
        }
        return [
            pad_batch(empty, batch_tokens // tokens, tokens, self.num_words)
            for tokens in self.lengths
            if self.num_words
        ]


def form_batch(
    words: np.ndarray,
    positions: np.ndarray,
    token_ids: np.ndarray,
    batch_tokens: int,
    shapes: BatchShapes | None,
) -> dict[str, np.ndarray]:
    """Returns a batch for `Corpus.dataset`, padded to `shapes`.

    `words` holds the ids of its distinct words, the masked one first, and `positions`
    the place of each word among them.
    """
    if shapes is None:
        return {"char_ids": words[positions], "token_ids": token_ids}
    rows, tokens = token_ids.shape
    tokens = shapes.padded_length(tokens)
    if shapes.lengths:
        rows = max(rows, batch_tokens // tokens)
    num_words = shapes.num_words
    if len(words) > num_words > 0:
        # The masked word may have no position.
        num_words = rows * tokens + 1
    batch = {"words": words, "positions": positions, "token_ids": token_ids}
    return pad_batch(batch, rows, tokens, num_words)


def pad_batch(
    batch: Mapping[str, Tensor], rows: int, tokens: int, num_words: int = 0
) -> dict[str, np.ndarray]:
    """Pads a batch with masked rows, positions and words up to these numbers."""
    padded = {}
    for name, value in batch.items():
        array = np.asarray(value)
        sizes = (num_words,) if name == "words" else (rows, tokens)
        widths = [(0, 0)] * array.ndim
        for axis, size in enumerate(sizes):
            widths[axis] = (0, max(0, size - array.shape[axis]))
        masked = PADDING_ID if name == "token_ids" else 0
        padded[name] = np.pad(array, widths, constant_values=masked)
    return padded


def few_shapes(
    rows: Iterable[Tokens], batch_tokens: int, longest: int, measured: bool = False
) -> BatchShapes:
    """Chooses shapes for the batches of a text by its first rows.

    `longest` is the greatest number of positions in a row. A short text that is
    `measured`, not trained on, has fewer lengths and more padding.
    """
    # With the boundaries, which each batch lists, too, like the masked word.
    sample = list(islice(rows, _SAMPLE_ROWS))
    sizes = [len(row) + 2 for row in sample]
    most = sum(sizes) // (_BATCHES_OF_LENGTH * batch_tokens) if measured else None
    shapes = BatchShapes(choose_lengths(sizes, longest, most))
    batches = length_batches(sample, batch_tokens, None, shapes.padded_length)
    most = max(
        (len(set(chain.from_iterable(batch))) + 3 for batch in batches), default=0
    )
    multiples = -int(-_MORE_WORDS * most // _MULTIPLE)
    return shapes._replace(num_words=_MULTIPLE * multiples)


def choose_lengths(
    rows: Sequence[int], longest: int, most: int | None = None
) -> tuple[int, ...]:
    """Chooses the fewest lengths that leave little padding in some rows.

    Rows have from one to `most` lengths, if that is a number. `longest` is always one,
    whether it has rows or not.
    """
    step = -(-longest // _MAX_COMPARED)
    rounded = np.minimum(-(-np.asarray(rows, "int64") // step) * step, longest)
    lengths, counts = np.unique(rounded, return_counts=True)
    before = np.concatenate([[0], np.cumsum(counts)])
    # In row j and column k: the positions that the rows from above lengths[k - 1] up to
    # lengths[j] take when they are padded to lengths[j].
    padded = lengths[:, np.newaxis] * (before[1:, np.newaxis] - before[:-1])
    padded = np.where(np.tri(len(lengths)), padded, np.inf)
    # The least positions that the rows up to lengths[j - 1] take, with one length more
    # in each round; and where the last but one of these lengths ends.
    least = np.array([0.0, *np.full(len(lengths), np.inf)])
    ends: list[np.ndarray] = []
    bound = len(lengths) if most is None else min(max(most, 1), len(lengths))
    while len(ends) < bound and sum(rows) < (1 - _MAX_PADDING) * least[-1]:
        positions = least[:-1] + padded
        ends.append(positions.argmin(axis=1))
        least = np.array([np.inf, *positions.min(axis=1)])
    chosen, end = {longest}, len(lengths)
    for previous in reversed(ends):
        chosen.add(int(lengths[end - 1]))
        end = previous[end - 1]
    return tuple(sorted(chosen))
