"""Half of the words of a text have stood in it before: each is read once."""

from collections.abc import Collection, Sequence
from typing import Any

import keras
import numpy as np

from keras_elmo.text.character_ids import spell_out

# Of a pass through the character CNN. The convolutions of the published models take up
# to 400 KB a word.
_WORDS_AT_A_TIME = 512


class WordVectors:
    """The token vectors of the words met so far.

    Args:
        character_cnn: a model of `[(1, words, 50)]` that computes them.
        capacity: words to keep. When there are more, all are forgotten; the frequent
            ones are back at once.
    """

    def __init__(self, character_cnn: keras.Model, capacity: int) -> None:
        self._character_cnn = character_cnn
        self._capacity = capacity
        self._forget(capacity)

    def __len__(self) -> int:
        return len(self._rows)

    def learn(self, words: Collection[bytes]) -> None:
        """Has those of some distinct words read that are not known yet."""
        new = [word for word in words if word not in self._rows]
        if len(self._rows) + len(new) > self._capacity:
            self._forget(max(self._capacity, len(words)))
            new = list(words)
        # The longest word of a pass decides how far the others are read.
        new.sort(key=len)
        for start in range(0, len(new), _WORDS_AT_A_TIME):
            self._add(new[start : start + _WORDS_AT_A_TIME])
        if not len(self._table):
            # A sentence without a word has boundaries all the same.
            self._add([])

    def look_up(
        self, sentences: Sequence[Sequence[bytes]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the vectors of sentences of known words, with their boundaries.

        Returns:
            `(sentences, tokens + 2, projection_units)`, and the mask, `(sentences,
            tokens + 2)`.
        """
        lengths = np.array([len(sentence) + 2 for sentence in sentences])
        mask = np.arange(lengths.max()) < lengths[:, np.newaxis]
        rows = np.zeros(mask.shape, "int64")
        for row, sentence in zip(rows, sentences, strict=True):
            row[1 : len(sentence) + 1] = [self._rows[word] for word in sentence]
            row[len(sentence) + 1] = 1
        return self._table[rows], mask

    def _forget(self, room: int) -> None:
        self._room = room
        self._rows: dict[bytes, int] = {}
        # Of no length until something is read.
        self._table = np.empty((0, 0), "float32")

    def _add(self, words: list[bytes]) -> None:
        vectors = self._read(words)
        if not len(self._table):
            # Memory that is not written to is not taken.
            shape = self._room + 2, vectors.shape[1]
            self._table = np.empty(shape, vectors.dtype)
            # A sentence's boundaries, which are read with whatever is read first.
            self._table[:2] = vectors[[0, -1]]
        first = len(self._rows) + 2
        self._table[first : first + len(words)] = vectors[1:-1]
        self._rows.update(zip(words, range(first, first + len(words)), strict=True))

    def _read(self, words: list[bytes]) -> np.ndarray:
        """The vectors of words between those of a sentence's boundaries."""
        char_ids = spell_out(words)
        size = char_ids.shape[1]
        # Few shapes, because some backends compile each anew.
        padding = (1 << (size - 1).bit_length()) - size
        char_ids = np.pad(char_ids, [(0, 0), (0, padding), (0, 0)])
        vectors = self._character_cnn.predict_on_batch([char_ids])
        return as_float32(vectors[0, :size])


def as_float32(values: Any) -> np.ndarray:
    """Converts what a model predicts: NumPy has no bfloat16, and files neither."""
    return np.asarray(values).astype("float32", copy=False)
