"""Half of the words of a text have stood in it before: each is read once."""

from collections.abc import Collection, Sequence
from typing import Any

import keras
import numpy as np

from keras_elmo.optional import import_tensorflow
from keras_elmo.text.character_ids import character_ids

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
        # A sentence's boundaries stand in the first two rows.
        self._boundaries = self._read([])
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
            part = new[start : start + _WORDS_AT_A_TIME]
            first = len(self._rows) + 2
            self._table[first : first + len(part)] = self._read(part)[1:-1]
            self._rows.update(zip(part, range(first, first + len(part)), strict=True))

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

    def _read(self, words: list[bytes]) -> np.ndarray:
        """The vectors of words between those of a sentence's boundaries."""
        tf = import_tensorflow("Spelling tokens out")
        size = len(words)
        char_ids = character_ids(tf.constant([words], tf.string, (1, size))).numpy()
        # Few shapes, because some backends compile each anew.
        padding = (1 << (size + 1).bit_length()) - size - 2
        char_ids = np.pad(char_ids, [(0, 0), (0, padding), (0, 0)])
        vectors = self._character_cnn.predict_on_batch([char_ids])
        return as_float32(vectors[0, : size + 2])

    def _forget(self, capacity: int) -> None:
        self._rows: dict[bytes, int] = {}
        # Memory that is not written to is not taken.
        units = self._boundaries.shape[1]
        self._table = np.empty((capacity + 2, units), self._boundaries.dtype)
        self._table[:2] = self._boundaries


def as_float32(values: Any) -> np.ndarray:
    """Converts what a model predicts: NumPy has no bfloat16, and files neither."""
    return np.asarray(values).astype("float32", copy=False)
