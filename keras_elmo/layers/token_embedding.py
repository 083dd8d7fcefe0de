"""Base of the layers that tokens are given to."""

from collections.abc import Iterator
from typing import TypeAlias

import keras
from keras import ops

from keras_elmo.utils.types import Shape, Tensor

# A name in published files, the weight, and its shape there.
StoredWeight: TypeAlias = tuple[str, keras.Variable, tuple[int, ...]]


class TokenEmbedding(keras.layers.Layer):
    """Maps `(batch, tokens, ids)` to `(batch, tokens, projection_units)`, and masks.

    A kind of token embedding defines `call`, which ends in `masked`, and
    `stored_weights`. Ids are 0 in a masked position, and so are vectors.
    """

    projection_units: int
    projection_kernel: keras.Variable | None = None
    projection_bias: keras.Variable | None = None

    def stored_weights(self) -> Iterator[StoredWeight]:
        """Yields the weights as published files hold them.

        A name begins as one of `ENCODER_NAMES` in files/published.py. A smaller shape
        holds the last numbers of a weight; those before are 0.
        """
        projection = {"W_proj": self.projection_kernel, "b_proj": self.projection_bias}
        for name, weight in projection.items():
            if weight is not None:
                yield f"CNN_proj/{name}", weight, weight.shape

    def add_projection(self, units: int) -> None:
        """Adds the weights that project `units` to `projection_units`."""
        self.projection_kernel = self.add_weight(
            name="projection_kernel",
            shape=(units, self.projection_units),
            initializer=keras.initializers.RandomNormal(stddev=units**-0.5),
        )
        self.projection_bias = self.add_weight(
            name="projection_bias", shape=(self.projection_units,), initializer="zeros"
        )

    def projected(self, x: Tensor) -> Tensor:
        if self.projection_kernel is None:
            return x
        return ops.matmul(x, self.projection_kernel) + self.projection_bias

    def masked(self, x: Tensor, char_ids: Tensor) -> Tensor:
        mask = ops.cast(self.compute_mask(char_ids), x.dtype)
        # Not an index: LiteRT lacks the operator of new axes.
        return x * ops.expand_dims(mask, -1)

    def compute_mask(self, char_ids: Tensor, previous_mask: Tensor = None) -> Tensor:
        return ops.greater(char_ids[..., 0], 0)

    def compute_output_shape(self, char_ids_shape: Shape) -> Shape:
        return (*char_ids_shape[:-1], self.projection_units)
