"""Which positions of a batch hold a token, as Keras's layers want to know it."""

from typing import Any

import keras
from keras import ops

from keras_elmo.utils.lazy import tf


def keep_first_of_empty(mask: Any) -> Any:
    """Returns a mask in which a sentence without any token keeps its first position.

    Keras's pooling layers divide by the number of unmasked positions.

    Args:
        mask: `(batch, tokens)` booleans.
    """
    empty = ops.logical_not(ops.any(mask, axis=1, keepdims=True))
    ones = ops.ones_like(mask, dtype="int32")
    first = ops.equal(ops.cumsum(ones, axis=1), 1)
    return ops.logical_or(mask, ops.logical_and(empty, first))


@keras.saving.register_keras_serializable("keras_elmo")
class TokenMask(keras.Operation):
    """The positions up to a sentence's last token that is not `""`, or not 0.

    An operation, so that a functional model can be put together of it: Keras has none
    on strings.

    Call arguments:
        tokens: `(batch, tokens)` strings or integers.

    Returns:
        `(batch, tokens)` booleans.
    """

    def call(self, tokens: Any) -> Any:
        if is_ids(tokens):
            return ops.not_equal(tokens, 0)
        tokens = tf.convert_to_tensor(tokens, tf.string)
        place = tf.range(tf.shape(tokens)[1])
        length = tf.reduce_max(tf.where(tokens != "", place + 1, 0), 1, keepdims=True)
        return place < length

    def compute_output_spec(self, tokens: Any) -> keras.KerasTensor:
        return keras.KerasTensor(tokens.shape, "bool")


def is_ids(tokens: Any) -> bool:
    """Whether tokens are given as integers, not as strings."""
    return "int" in str(getattr(tokens, "dtype", ""))
