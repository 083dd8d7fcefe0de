"""What stands for a word in a downstream model: cached biLM layers, or a static vector.

Both give the input of a model, the word vectors that it computes from the input, and
the input's value for a batch of sentences, told by their places in the data.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

import keras_elmo

PADDING, UNKNOWN = 0, 1
_ONCE_UNKNOWN = 0.5
_CHECKED_SENTENCES = 32


def token_mask(lengths: np.ndarray) -> np.ndarray:
    """Returns `(batch, tokens)` booleans for sentences of so many words.

    A sentence without any keeps its first position, whose vector is that of padding,
    as `keras_elmo.ElmoEmbedding` has it.
    """
    lengths = np.maximum(lengths, 1)
    return np.arange(lengths.max()) < lengths[:, np.newaxis]


class Words(ABC):
    """Word vectors of known sentences."""

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        self.lengths = np.array([len(sentence) for sentence in sentences])

    def mask(self, places: np.ndarray) -> np.ndarray:
        """Returns `(batch, tokens)` booleans: where the words are."""
        return token_mask(self.lengths[places])

    @abstractmethod
    def vectors(self) -> tuple[Any, Any]:
        """Returns a new model's input and its `(batch, tokens, units)` vectors."""

    @abstractmethod
    def batch(
        self, places: np.ndarray, random: np.random.Generator | None = None
    ) -> np.ndarray:
        """Returns the input's value; `random` is given while training."""


class CachedLayers(Words):
    """A frozen encoder, whose layers are computed once for each sentence.

    The encoder is a fixed function of the sentence, so a model need train no more than
    the mix and what is above it: `ScalarMix` over these layers is what `ElmoEmbedding`
    computes from character ids. `greatest_difference` measures that it is.

    Args:
        encoder: the biLM.
        sentences: tokens of each sentence.
    """

    def __init__(
        self, encoder: keras_elmo.Encoder, sentences: Sequence[Sequence[str]]
    ) -> None:
        super().__init__(sentences)
        config = encoder.config
        self._shape = (config.num_layers + 1, 2 * config.projection_units)
        self._layers = [np.zeros(0, np.float32)] * len(sentences)
        # By length, so that there is little padding.
        order = np.argsort(self.lengths, kind="stable")
        embedded = keras_elmo.embed(encoder, (sentences[place] for place in order))
        for place, layers in zip(order, embedded, strict=True):
            self._layers[place] = layers

    def vectors(self) -> tuple[Any, Any]:
        num_layers, units = self._shape
        layers = keras.Input((num_layers, None, units), name="layers")
        mix = keras_elmo.ScalarMix(name="mix")
        return layers, mix([layers[:, k] for k in range(num_layers)])

    def batch(
        self, places: np.ndarray, random: np.random.Generator | None = None
    ) -> np.ndarray:
        num_layers, units = self._shape
        longest = max(1, self.lengths[places].max())
        batch = np.zeros((len(places), num_layers, longest, units), np.float32)
        for row, place in enumerate(places):
            batch[row, :, : self.lengths[place]] = self._layers[place]
        return batch

    def greatest_difference(
        self, encoder: keras_elmo.Encoder, sentences: Sequence[Sequence[str]]
    ) -> float:
        """Compares a mix of the cached layers with what `ElmoEmbedding` returns.

        Args:
            encoder: the one that was cached.
            sentences: those that were cached; some of them, of all lengths, are
                compared as one batch.
        """
        num = min(_CHECKED_SENTENCES, len(sentences))
        places = np.linspace(0, len(sentences) - 1, num).astype(int)
        # Unequal weights, so that no layer passes for another.
        scalars = np.arange(self._shape[0], dtype=np.float32)
        embedding = keras_elmo.ElmoEmbedding(encoder)
        embedding.mixes[0].scalars.assign(scalars)
        longest = max(1, self.lengths[places].max())
        tokens = [
            [*sentences[place], *[""] * (longest - self.lengths[place])]
            for place in places
        ]
        expected = embedding(keras_elmo.CharacterIds()(tokens))
        model = keras.Model(*self.vectors())
        model.get_layer("mix").scalars.assign(scalars)
        mixed = model(self.batch(places))
        return float(np.abs(np.asarray(mixed) - np.asarray(expected)).max())


class StaticWords(Words):
    """A trainable vector for each word of the training sentences.

    While training, a word that occurs once there is taken for an unknown one every
    other time: its own vector and that of unknown words are both trained.

    Args:
        sentences: tokens of each sentence.
        num_train: the first so many sentences are for training.
        units: size of a vector.
    """

    def __init__(
        self, sentences: Sequence[Sequence[str]], num_train: int, units: int
    ) -> None:
        super().__init__(sentences)
        self._units = units
        counts = Counter(
            word for sentence in sentences[:num_train] for word in sentence
        )
        ids = {word: number for number, word in enumerate(counts, UNKNOWN + 1)}
        self._once = np.zeros(len(ids) + 2, bool)
        self._once[2:] = [count == 1 for count in counts.values()]
        self._ids = [
            np.array([ids.get(word, UNKNOWN) for word in sentence], np.int32)
            for sentence in sentences
        ]

    def vectors(self) -> tuple[Any, Any]:
        ids = keras.Input((None,), dtype="int32", name="ids")
        embedding = keras.layers.Embedding(
            len(self._once), self._units, name="embedding"
        )
        return ids, embedding(ids)

    def batch(
        self, places: np.ndarray, random: np.random.Generator | None = None
    ) -> np.ndarray:
        longest = max(1, self.lengths[places].max())
        batch = np.full((len(places), longest), PADDING, np.int32)
        for row, place in enumerate(places):
            batch[row, : self.lengths[place]] = self._ids[place]
        if random is not None:
            hidden = self._once[batch] & (random.random(batch.shape) < _ONCE_UNKNOWN)
            batch[hidden] = UNKNOWN
        return batch
