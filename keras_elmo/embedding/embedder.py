"""Half of the words of a text have stood in it before: each is read once."""

import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import keras
import numpy as np

from keras_elmo.models.encoder import Encoder
from keras_elmo.text.character_ids import encode_tokens
from keras_elmo.utils.checks import check_positive
from keras_elmo.utils.lazy import tf

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
        char_ids = encode_tokens(words)
        size = char_ids.shape[1]
        # Few shapes, because some backends compile each anew.
        padding = (1 << (size - 1).bit_length()) - size
        char_ids = np.pad(char_ids, [(0, 0), (0, padding), (0, 0)])
        vectors = self._character_cnn.predict_on_batch([char_ids])
        return as_float32(vectors[0, :size])


def as_float32(values: Any) -> np.ndarray:
    """Converts what a model predicts: NumPy has no bfloat16, and files neither."""
    return np.asarray(values).astype("float32", copy=False)


# Sentences are sorted by length within so many batches, which leaves little padding.
_WINDOW_BATCHES = 16
# Positions of a window, whose vectors are all in memory before the first is given out,
# and of a pass with its padding; only a sentence that is longer on its own has more.
_MAX_POSITIONS = 16_384
# Words whose token vectors are kept.
_CACHED_WORDS = 65_536

Sentence = Sequence[str | bytes]


def embed(
    model: Encoder, sentences: Iterable[Sentence], batch_size: int = 32
) -> Iterator[np.ndarray]:
    """Yields the biLM's layers of each sentence, in the order given.

    The sentences are read a window of batches ahead of the vectors and sorted by
    length within it; the character CNN reads each word once.

    Args:
        model: an `Encoder`, whose weights stay as they are meanwhile.
        sentences: lists of tokens.
        batch_size: sentences of a pass through the biLM at most.

    Yields:
        `(num_layers + 1, tokens, 2 * projection_units)` float32 arrays, without the
        sentence boundaries.

    Raises:
        TypeError: a sentence is a string instead of a list of tokens.
        ValueError: a token is empty, or `batch_size` is not positive.
        ImportError: TensorFlow, which spells the tokens out, is not installed.
    """
    return Embedder(model).embed(sentences, batch_size)


class Embedder:
    """An encoder, and the vectors of the words that it has read.

    What it returns is the same to the bit if it has read the same sentences before, in
    the same batches: how a word's vector is rounded depends on those beside it.

    Args:
        model: an `Encoder`, whose weights stay as they are meanwhile.
    """

    def __init__(self, model: Encoder) -> None:
        character_cnn, self._bilm = _halves(model)
        self._words = WordVectors(character_cnn, _CACHED_WORDS)

    def embed(
        self,
        sentences: Iterable[Sentence],
        batch_size: int,
        mix: np.ndarray | None = None,
    ) -> Iterator[np.ndarray]:
        """Yields the layers of each sentence; see the function `embed`.

        Args:
            sentences: lists of tokens.
            batch_size: sentences of a pass through the biLM at most.
            mix: a weight for each layer, if their sum is to be yielded instead,
                `(tokens, 2 * projection_units)`.
        """
        check_positive(batch_size=batch_size)
        for window in self._read_windows(sentences, batch_size):
            results: list[Any] = [None] * len(window)
            for places in batches_of_like_length(
                [len(sentence) for sentence in window], batch_size
            ):
                vectors, mask = self._words.look_up([window[k] for k in places])
                layers = self._bilm.predict_on_batch([vectors, mask])
                layers = [as_float32(layer) for layer in layers]
                if mix is not None:
                    # A batch at once is less work than a sentence at a time.
                    layers = [_weighted_sum(layers, mix)]
                for row, place in enumerate(places):
                    end = len(window[place]) + 1
                    vectors = np.stack([layer[row, 1:end] for layer in layers])
                    results[place] = vectors if mix is None else vectors[0]
            yield from results

    def learn(self, sentences: Iterable[Sentence], batch_size: int) -> None:
        """Reads the words of sentences as `embed` would, and no more than those."""
        for _ in self._read_windows(sentences, batch_size):
            pass

    def _read_windows(
        self, sentences: Iterable[Sentence], batch_size: int
    ) -> Iterator[list[list[bytes]]]:
        for window in _windows(map(utf8_tokens, sentences), batch_size):
            # In the order of the text, so that the same text gives the same bits.
            self._words.learn(dict.fromkeys(chain.from_iterable(window)))
            yield window


def _weighted_sum(layers: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    total = weights[0] * layers[0]
    for weight, layer in zip(weights[1:], layers[1:], strict=True):
        total += weight * layer
    return total


def utf8_tokens(sentence: Sentence) -> list[bytes]:
    """Returns the tokens as bytes, if it is a list of tokens."""
    if isinstance(sentence, str | bytes):
        raise TypeError(
            f"`sentences` must hold lists of tokens. Received: a sentence {sentence!r}"
        )
    if not all(sentence):
        # At the end of a row it would be taken for padding.
        raise ValueError(
            "`sentences` must hold tokens that are not empty. "
            f"Received: a sentence {sentence!r}"
        )
    return [token if isinstance(token, bytes) else token.encode() for token in sentence]


def _windows(
    sentences: Iterable[list[bytes]], batch_size: int
) -> Iterator[list[list[bytes]]]:
    """Cuts a stream where either bound is reached."""
    window: list[list[bytes]] = []
    positions = 0
    for sentence in sentences:
        positions += len(sentence) + 2
        if window and positions > _MAX_POSITIONS:
            yield window
            window, positions = [], len(sentence) + 2
        window.append(sentence)
        if len(window) == batch_size * _WINDOW_BATCHES:
            yield window
            window, positions = [], 0
    if window:
        yield window


def batches_of_like_length(lengths: list[int], batch_size: int) -> Iterator[list[int]]:
    """Groups the places of sentences of similar length."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        # Sorted, so this sentence would be the longest of the batch.
        positions = (lengths[place] + 2) * (len(batch) + 1)
        if batch and (len(batch) == batch_size or positions > _MAX_POSITIONS):
            yield batch
            batch = []
        batch.append(place)
    yield batch


class _Compiled(keras.Model):
    """A layer that is run as a model is: compiled, whatever the backend.

    Its arguments come as a list, each `(batch, tokens, ..)`. On TensorFlow there is one
    graph for all shapes: Keras would make several, and look a call up among them.
    """

    def __init__(self, layer: keras.layers.Layer) -> None:
        super().__init__(name=f"compiled_{layer.name}")
        self.layer = layer
        self._graph: Any = None

    def call(self, inputs: list[Any]) -> Any:
        return self.layer(*inputs)

    def predict_on_batch(self, x: list[np.ndarray]) -> Any:
        if keras.backend.backend() != "tensorflow":
            return super().predict_on_batch(x)
        if self._graph is None:
            shapes = [(None, None, *each.shape[2:]) for each in x]
            signature = [
                tf.TensorSpec(shape, each.dtype)
                for shape, each in zip(shapes, x, strict=True)
            ]
            self._graph = tf.function(
                lambda inputs: self(inputs, training=False),
                input_signature=[signature],
                autograph=False,
            )
        return self._graph(x)


# Compiled once an encoder, not once a call.
_HALVES: "weakref.WeakKeyDictionary[Encoder, list[_Compiled]]" = (
    weakref.WeakKeyDictionary()
)


def _halves(model: Encoder) -> list[_Compiled]:
    """The character CNN and the biLM of an encoder."""
    if model not in _HALVES:
        names = "char_cnn_embedding", "bilm"
        _HALVES[model] = [_Compiled(model.get_layer(name)) for name in names]
    return _HALVES[model]
