"""What computes the layers of sentences: Keras, or ONNX Runtime."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from keras_elmo.files.onnx_session import OnnxEncoder
from keras_elmo.files.sources import AnyEncoder
from keras_elmo.text.batching import Tokens

# Maps a batch of sentences, and whether to keep their boundaries, to layers
# `(batch, positions, 2 * projection_units)`.
ComputeLayers: TypeAlias = Callable[[Sequence[Tokens], bool], list[np.ndarray]]


class Runner(Protocol):
    """Computes the layers of a window's sentences, batch by batch."""

    # The most positions of a padded batch, unless one sentence alone is longer.
    max_positions: int

    def prepare(self, window: Sequence[Tokens], keep_words: bool) -> ComputeLayers:
        """Computes what the batches of a window share; returns what computes one.

        Args:
            window: sentences.
            keep_words: whether the vectors of new words are cached while there is room.
        """


class _OnnxRunner:
    """Computes the words of each batch anew."""

    # The outputs are padded in memory.
    max_positions = 4_096

    def __init__(self, encoder: OnnxEncoder) -> None:
        self._encoder = encoder

    def prepare(self, window: Sequence[Tokens], keep_words: bool) -> ComputeLayers:
        return self._layers

    def _layers(
        self, sentences: Sequence[Tokens], keep_boundaries: bool
    ) -> list[np.ndarray]:
        if keep_boundaries:
            raise ValueError(
                "`keep_boundaries` must be False for an .onnx file, which has none. "
                "Received: keep_boundaries=True"
            )
        return self._encoder.layers(sentences)


def runner_of(model: AnyEncoder) -> Runner:
    """Returns what computes the layers of a model."""
    if isinstance(model, OnnxEncoder):
        return _OnnxRunner(model)
    # It imports Keras.
    from keras_elmo.embedding.word_cache import KerasRunner

    return KerasRunner(model)
