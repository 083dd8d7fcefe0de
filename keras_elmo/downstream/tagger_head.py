"""The trained part of a tagger: word vectors to scores of tags."""

import keras
from keras import ops

from keras_elmo.layers.bilm import run_bilstm
from keras_elmo.layers.crf import CRF, CRFLoss
from keras_elmo.layers.crf_paths import (
    crf_decode,
    crf_marginals,
    place_of_greatest,
)
from keras_elmo.utils.types import Shape, Tensor


class TaggerHead(keras.layers.Layer):
    """Runs dropout, a bidirectional LSTM, a dense layer, and a CRF.

    Takes vectors `(batch, tokens, units)` and a mask `(batch, tokens)`; returns what
    `Tagger` does, which explains the other arguments.
    """

    def __init__(
        self,
        tags: list[str],
        lstm_units: int,
        crf: bool,
        dropout: float,
        **kwargs: object,
    ) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.tags = list(tags)
        self.dropout = keras.layers.Dropout(dropout)
        self.lstm = None
        if lstm_units:
            lstm = keras.layers.LSTM(lstm_units, return_sequences=True, name="lstm")
            self.lstm = keras.layers.Bidirectional(lstm, name="bilstm")
        self.scores = keras.layers.Dense(len(tags), name="scores")
        self.crf = CRF(len(tags), tags, name="crf") if crf else None

    def build(self, vectors_shape: Shape) -> None:
        shape = tuple(vectors_shape)
        if self.lstm is not None:
            self.lstm.build(shape)
            shape = self.lstm.compute_output_shape(shape)
        self.scores.build(shape)
        if self.crf is not None:
            self.crf.build(self.scores.compute_output_shape(shape))

    def call(
        self, vectors: Tensor, mask: Tensor, training: bool | None = None
    ) -> Tensor:
        vectors = self.dropout(vectors, training=training)
        if self.lstm is not None:
            vectors = run_bilstm(self.lstm, vectors, mask, training)
            vectors = self.dropout(vectors, training=training)
        scores = self.scores(vectors)
        return scores if self.crf is None else self.crf(scores, mask=mask)

    def compute_mask(self, vectors: Tensor, previous_mask: Tensor = None) -> None:
        # The CRF's outputs and the labels of the other loss tell what is masked.
        return None

    def decode(self, outputs: Tensor) -> Tensor:
        """Returns the `(batch, tokens)` indices of the best tags."""
        if self.crf is None:
            return place_of_greatest(outputs, axis=-1)
        return crf_decode(outputs)[0]

    def probabilities(self, outputs: Tensor) -> Tensor:
        """Returns the `(batch, tokens, tags)` probabilities of all tags."""
        if self.crf is None:
            return ops.softmax(ops.cast(outputs, "float32"), axis=-1)
        return crf_marginals(outputs)


def tagger_loss(crf: bool) -> keras.losses.Loss:
    """Returns the loss of a head for labels that are -1 where there is no tag."""
    if crf:
        return CRFLoss()
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1)
