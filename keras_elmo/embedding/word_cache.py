"""A cache of word vectors, and the compiled halves of an encoder."""

import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import TypeAlias

import keras
import numpy as np

from keras_elmo.models.encoder import Encoder
from keras_elmo.text.batch_shapes import rounded_up
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.utils.forks import check_not_forked
from keras_elmo.utils.one_graph import BatchGraph
from keras_elmo.utils.types import Tensor

# Sentences to their ids, `(sentences, words + 2, ids)`.
Encode: TypeAlias = Callable[[list[list[bytes]]], np.ndarray]
# Words per pass through the character CNN: the convolutions of the published models
# take up to 400 KB per word. With the two boundaries they are a power of two.
_CNN_BATCH_SIZE = 510
# Words whose vectors a cache keeps.
_CACHED_WORDS = 65_536


class WordCache:
    """Vectors of words, from the token embedding; the first `capacity` are kept.

    `encode` returns the ids of sentences with their boundaries.
    """

    def __init__(
        self,
        token_embedding: "CompiledLayer",
        encode: Encode,
        capacity: int = _CACHED_WORDS,
    ) -> None:
        self._token_embedding = token_embedding
        self._encode = encode
        self._capacity = capacity
        self._rows: dict[bytes, int] = {}
        # The sentence boundaries, then a row per word; empty until the first pass.
        self._table = np.empty((0, 0), "float32")

    def __len__(self) -> int:
        return len(self._rows)

    def vectors(self, words: Sequence[bytes], keep: bool) -> np.ndarray:
        """Returns the vectors of distinct words, `(2 + words, projection_units)`.

        The first two rows are the beginning and the end of a sentence. With `keep`, new
        words are cached while there is room.
        """
        rows = np.array([0, 1, *(self._rows.get(word, -1) for word in words)])
        new = np.flatnonzero(rows < 0)
        computed = self._compute([words[row - 2] for row in new.tolist()])
        table = self._table[rows]
        table[new] = computed
        if keep:
            first = len(self._rows) + 2
            kept = new[: self._capacity + 2 - first]
            self._table[first : first + len(kept)] = computed[: len(kept)]
            for row, place in enumerate(kept.tolist(), start=first):
                self._rows[words[place - 2]] = row
        return table

    def _compute(self, words: list[bytes]) -> np.ndarray:
        if not words and len(self._table):
            return self._table[:0]
        # The longest word of a pass sets the width of the others.
        order = sorted(range(len(words)), key=lambda k: len(words[k]))
        starts = range(0, max(len(words), 1), _CNN_BATCH_SIZE)
        passes = [
            self._run([words[k] for k in order[start : start + _CNN_BATCH_SIZE]])
            for start in starts
        ]
        vectors = np.concatenate(passes)
        vectors[order] = vectors.copy()
        return vectors

    def _run(self, words: list[bytes]) -> np.ndarray:
        char_ids = self._encode([words])
        size = char_ids.shape[1]
        # Few shapes, because some backends compile each anew.
        padding = (1 << (size - 1).bit_length()) - size
        char_ids = np.pad(char_ids, [(0, 0), (0, padding), (0, 0)])
        vectors = as_float32(self._token_embedding.predict_on_batch([char_ids])[0])
        if not len(self._table):
            # Memory that is not written to is not taken.
            self._table = np.empty((self._capacity + 2, vectors.shape[1]), "float32")
            # Every pass has the boundaries of a sentence.
            self._table[:2] = vectors[[0, size - 1]]
        return vectors[1 : size - 1]


def as_float32(values: Tensor) -> np.ndarray:
    """Converts what a model predicts: NumPy and files have no bfloat16."""
    return np.asarray(values).astype("float32", copy=False)


class CompiledLayer(keras.Model):
    """A layer as a compiled model of a list of arrays `(batch, tokens, ...)`.

    On TensorFlow it has one graph for all shapes, which Keras would not have. On JAX,
    which compiles a program for each shape, it pads the arrays to few shapes.
    """

    def __init__(self, layer: keras.layers.Layer) -> None:
        super().__init__(name=f"compiled_{layer.name}")
        self.layer = layer
        # Otherwise Keras calls it once to build it, operation by operation.
        self.built = layer.built
        self._graph = BatchGraph(lambda *inputs: self([*inputs], training=False))

    def call(self, inputs: list[Tensor]) -> Tensor:
        return self.layer(*inputs)

    def predict_on_batch(self, x: list[np.ndarray]) -> Tensor:
        backend = keras.backend.backend()
        if backend == "jax":
            batch, tokens = x[0].shape[:2]
            # Zeros are masked.
            more = [(0, rounded_up(batch) - batch), (0, rounded_up(tokens) - tokens)]
            x = [np.pad(array, more + [(0, 0)] * (array.ndim - 2)) for array in x]
            outputs = super().predict_on_batch(x)
            return keras.tree.map_structure(lambda y: y[:batch, :tokens], outputs)
        if backend != "tensorflow":
            return super().predict_on_batch(x)
        return self._graph(*x)


# Compiled once per encoder, not once per call.
_COMPILED: "weakref.WeakKeyDictionary[Encoder, list[CompiledLayer]]"
_COMPILED = weakref.WeakKeyDictionary()
# The lookups of a large vocabulary are not made at each call.
_ids = lru_cache(8)(PlainIds)


def compiled_halves(model: Encoder) -> list[CompiledLayer]:
    """Returns the token embedding and the biLM of an encoder."""
    if model not in _COMPILED:
        layers = model.token_embedding, model.get_layer("bilm")
        _COMPILED[model] = [CompiledLayer(layer) for layer in layers]
    return _COMPILED[model]


class KerasRunner:
    """Computes layers with Keras, the vectors of words once per window.

    Sentences get boundaries; with an `encode` of the caller's, they have them already.
    """

    def __init__(self, model: Encoder, encode: Encode | None = None) -> None:
        token_embedding, self._bilm = compiled_halves(model)
        self._adds_boundaries = encode is None
        encode = encode or _ids(model.config.token_vocabulary)
        self._cache = WordCache(token_embedding, encode)

    def prepare(
        self, window: Sequence[Sequence[bytes]], keep_words: bool
    ) -> Callable[[Sequence[Sequence[bytes]]], list[np.ndarray]]:
        """Computes the words of a window; returns what computes layers of batches.

        The layers have the boundaries of the sentences.
        """
        check_not_forked(keras.backend.backend())
        # In the order of the text, so that the same text gives the same bits.
        words = list(dict.fromkeys(chain.from_iterable(window)))
        table = self._cache.vectors(words, keep_words)
        rows = {word: row for row, word in enumerate(words, start=2)}

        def layers(sentences: Sequence[Sequence[bytes]]) -> list[np.ndarray]:
            batch = _batch(table, rows, sentences, int(self._adds_boundaries))
            computed = self._bilm.predict_on_batch(batch)
            return list(map(as_float32, computed))

        return layers


def _batch(
    table: np.ndarray,
    rows: dict[bytes, int],
    sentences: Sequence[Sequence[bytes]],
    added: int,
) -> list[np.ndarray]:
    """Returns the token vectors of sentences with their boundaries, and the mask.

    As many boundaries are `added` on each side.
    """
    lengths = np.array([len(sentence) + 2 * added for sentence in sentences])
    mask = np.arange(lengths.max()) < lengths[:, np.newaxis]
    indices = np.zeros(mask.shape, "int64")
    for row, sentence in zip(indices, sentences, strict=True):
        row[added : len(sentence) + added] = [rows[word] for word in sentence]
        row[len(sentence) + added : len(sentence) + 2 * added] = 1
    return [table[indices], mask]
