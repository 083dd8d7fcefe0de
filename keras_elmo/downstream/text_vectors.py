"""Pools word vectors to a vector for each text or pair of texts."""

from collections.abc import Sequence

import keras
from keras import ops

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.layers.bilm import run_bilstm
from keras_elmo.utils.types import Tensor

# Less than any value.
_LEAST = -1e9


class TextVectors(keras.layers.Layer):
    """Pools word vectors to `(batch, units)` float32; see `TextClassifier`.

    Takes, for each text of a pair or for the only one, what `elmo` reads, and what
    `static` reads if there is one. Their vectors are normalised separately.
    """

    def __init__(
        self,
        elmo: ElmoEmbedding,
        static: StaticEmbedding | None,
        pooling: Sequence[str],
        lstm_units: int,
        hidden: int,
        dropout: float,
        pairs: bool,
    ) -> None:
        super().__init__(dtype="float32")
        layers = keras.layers
        self.elmo = elmo
        self.static = static
        self.pooling = list(pooling)
        sizes = [elmo.layers_shape[-1]] + ([] if static is None else [static.units])
        if static is not None and not static.built:
            static.build()
        self.normalizations = []
        for size in sizes:
            normalization = layers.LayerNormalization(dtype="float32")
            normalization.build((None, None, size))
            self.normalizations.append(normalization)
        # Whole features: one that some words alone lack would have another maximum.
        self.word_dropout = layers.SpatialDropout1D(dropout, dtype="float32")
        self.lstm = None
        if lstm_units:
            lstm = layers.LSTM(lstm_units, return_sequences=True, dtype="float32")
            self.lstm = layers.Bidirectional(lstm, dtype="float32")
            self.lstm.build((None, None, sum(sizes)))
        self.units = len(pooling) * (2 * lstm_units or sum(sizes)) * (4 if pairs else 1)
        self.hidden_layer = None
        if hidden:
            dense = layers.Dense(hidden, activation="relu", dtype="float32")
            dense.build((None, self.units))
            self.hidden_layer, self.units = dense, hidden
        self.dropout = layers.Dropout(dropout, dtype="float32")
        self.built = True

    def call(
        self, texts: Sequence[Sequence[Tensor]], training: bool | None = None
    ) -> Tensor:
        x, *others = [self._pooled(inputs, training) for inputs in texts]
        for y in others:
            x = ops.concatenate([x, y, ops.abs(x - y), x * y], axis=-1)
        if self.hidden_layer is None:
            return x
        return self.dropout(self.hidden_layer(x), training=training)

    def _pooled(self, inputs: Sequence[Tensor], training: bool | None) -> Tensor:
        ids, *static_ids = inputs
        vectors = [self.elmo(ids, training=training)]
        if self.static is not None:
            vectors.append(ops.cast(self.static(static_ids[0]), "float32"))
        parts = zip(self.normalizations, vectors, strict=True)
        x = ops.concatenate([normalize(part) for normalize, part in parts], axis=-1)
        x = self.word_dropout(x, training=training)
        mask = self.elmo.compute_mask(ids)
        if self.lstm is not None:
            x = run_bilstm(self.lstm, x, mask, training)
        # A text without words keeps a position.
        kept = ops.expand_dims(mask, -1)
        num_kept = ops.sum(ops.cast(kept, "float32"), axis=1)
        pools = {
            "mean": ops.sum(ops.where(kept, x, 0.0), axis=1) / num_kept,
            "max": ops.max(ops.where(kept, x, _LEAST), axis=1),
        }
        return ops.concatenate([pools[name] for name in self.pooling], axis=-1)
