"""A sentence's vector out of those of its words."""

from typing import Any

import keras
from keras import ops


class MaxAndMean(keras.layers.Layer):
    """The greatest and the mean value over the unmasked positions, one after the other.

    Call arguments:
        x: `(batch, tokens, units)` tensor.
        mask: `(batch, tokens)` booleans, each row with one that is true.

    Returns:
        `(batch, 2 * units)` tensor.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x: Any, mask: Any) -> Any:
        kept = ops.cast(mask, x.dtype)[..., None]
        greatest = ops.max(ops.where(mask[..., None], x, -1e9), axis=1)
        mean = ops.sum(x * kept, axis=1) / ops.sum(kept, axis=1)
        return ops.concatenate([greatest, mean], axis=-1)

    def compute_mask(self, x: Any, previous_mask: Any = None) -> None:
        # What comes out has no tokens any more.
        return None
