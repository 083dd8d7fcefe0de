"""The word vectors that a downstream model reads.

Each kind gives the inputs of a model, the vectors computed from them, and the inputs'
values for a batch of sentences, given by their indices in the task.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from data_sets import Sentence

import keras_elmo
from keras_elmo.text.vector_file import read_vector_file

PADDING, UNKNOWN = 0, 1

# A model's inputs, and a tensor of each kind of vectors that is computed from them.
Vectors = tuple[list[Any], list[Any]]


class Words(ABC):
    """Word vectors of known sentences.

    Args:
        rows: of each sentence the row of each token in whatever holds the vectors; row
            0 is padding.
    """

    def __init__(self, rows: Sequence[np.ndarray]) -> None:
        self.rows = rows
        self.lengths = np.array([len(each) for each in rows])

    def mask(self, indices: np.ndarray) -> np.ndarray:
        """Returns `(batch, tokens)` booleans: where the words are.

        A sentence without any keeps its first position, whose vector is that of
        padding, as in `keras_elmo.ElmoEmbedding`.
        """
        lengths = np.maximum(self.lengths[indices], 1)
        return np.arange(lengths.max()) < lengths[:, np.newaxis]

    @abstractmethod
    def vectors(self) -> Vectors:
        """Returns a new model's inputs, and `(batch, tokens, units)` of each kind."""

    @abstractmethod
    def batch(self, indices: np.ndarray) -> list[np.ndarray]:
        """Returns the inputs' values."""


class FrozenWords(Words):
    """Vectors that were computed before, in one layer or in several that are mixed.

    A frozen encoder is a fixed function of the sentence, so a model need train no more
    than the mix and what is above it: `ScalarMix` over these layers is what
    `ElmoEmbedding` computes from character ids.

    Args:
        table: `(rows, layers, units)`; row 0 is padding, and 0.
        rows: as above.
    """

    def __init__(self, table: np.ndarray, rows: Sequence[np.ndarray]) -> None:
        super().__init__(rows)
        self._table = table

    def layer(self, number: int) -> "FrozenWords":
        """Returns the vectors of one layer alone."""
        return FrozenWords(self._table[:, [number]], self.rows)

    def layers(self) -> Iterator[np.ndarray]:
        """Yields `(layers, tokens, units)` of each sentence."""
        return (self._table[rows].transpose(1, 0, 2) for rows in self.rows)

    def vectors(self) -> Vectors:
        _, num_layers, units = self._table.shape
        layers = keras.Input((None, num_layers, units))
        if num_layers == 1:
            return [layers], [layers[:, :, 0]]
        mix = keras_elmo.ScalarMix()
        return [layers], [mix([layers[:, :, k] for k in range(num_layers)])]

    def batch(self, indices: np.ndarray) -> list[np.ndarray]:
        longest = max(1, self.lengths[indices].max())
        rows = np.full((len(indices), longest), PADDING, np.int32)
        for row, index in zip(rows, indices, strict=True):
            row[: self.lengths[index]] = self.rows[index]
        return [self._table[rows].astype("float32")]


class JoinedWords(Words):
    """The vectors of several kinds one after the other: `[x_k; ELMo_k]`."""

    def __init__(self, parts: Sequence[Words]) -> None:
        super().__init__(parts[0].rows)
        self._parts = parts

    def vectors(self) -> Vectors:
        parts = (part.vectors() for part in self._parts)
        inputs, vectors = zip(*parts, strict=True)
        return sum(inputs, []), sum(vectors, [])

    def batch(self, indices: np.ndarray) -> list[np.ndarray]:
        return sum((part.batch(indices) for part in self._parts), [])


def contextual_words(
    sentences: Sequence[Sentence],
    layers: Iterable[np.ndarray],
    shape: tuple[int, int],
) -> FrozenWords:
    """Makes words of a `(layers, tokens, units)` array for each sentence.

    They are kept in float16: half of the memory, and no task notices. `shape` is
    `(layers, units)`.
    """
    ends = np.cumsum([1, *map(len, sentences)])
    rows = np.split(np.arange(1, ends[-1], dtype=np.int32), ends[1:-1] - 1)
    table = np.zeros((ends[-1], *shape), np.float16)
    for places, vectors in zip(rows, layers, strict=True):
        table[places] = vectors.transpose(1, 0, 2)
    return FrozenWords(table, rows)


def static_words(path: Path, sentences: Sequence[Sentence]) -> FrozenWords:
    """Makes words of a file of static vectors; unknown words share the vector 0.

    A word that the file has in lower case only has that vector.
    """
    words, vectors = read_vector_file(path)
    ids = {word: number for number, word in enumerate(words, UNKNOWN + 1)}
    table = np.concatenate([np.zeros((2, vectors.shape[1]), np.float32), vectors])
    rows = [
        np.array([ids.get(w, ids.get(w.lower(), UNKNOWN)) for w in sentence], np.int32)
        for sentence in sentences
    ]
    return FrozenWords(table[:, np.newaxis], rows)
