"""Masks of the positions of a batch that hold a token."""

import keras
from keras import ops

from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Tensor


def keep_first_of_empty(mask: Tensor) -> Tensor:
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

    An operation, because a functional model needs one for strings and Keras has none.

    Call arguments:
        tokens: `(batch, tokens)` strings or integers.

    Returns:
        `(batch, tokens)` booleans.
    """

    def call(self, tokens: Tensor) -> Tensor:
        if is_ids(tokens):
            return ops.not_equal(tokens, 0)
        tokens = tf.convert_to_tensor(tokens, tf.string)
        place = tf.range(tf.shape(tokens)[1])
        length = tf.reduce_max(tf.where(tokens != "", place + 1, 0), 1, keepdims=True)
        return place < length

    def compute_output_spec(self, tokens: Tensor) -> keras.KerasTensor:
        return keras.KerasTensor(tokens.shape, "bool")


def is_ids(tokens: Tensor) -> bool:
    """Whether tokens are given as integers, not as strings."""
    return "int" in str(getattr(tokens, "dtype", ""))
