"""Masks the positions of a batch that hold no token."""

import keras
from keras import ops

from keras_elmo.layers.recurrence import leading
from keras_elmo.text.string_layer import padded, sentence_lengths
from keras_elmo.utils.keras_classes import keras_class
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Shape, Tensor


def keep_first_of_empty(mask: Tensor) -> Tensor:
    """Returns a `(batch, tokens)` mask with the first position of empty rows kept.

    Keras's pooling layers divide by the number of unmasked positions.
    """
    empty = ops.logical_not(ops.any(mask, axis=1, keepdims=True))
    ones = ops.ones_like(mask, dtype="int32")
    first = ops.equal(ops.cumsum(ones, axis=1), 1)
    return ops.logical_or(mask, ops.logical_and(empty, first))


@keras_class
class TokenMask(keras.Operation):
    """Finds the positions of a sentence's tokens.

    Strings count up to the last one that is not `""`, ids where they are not 0. A
    sentence without tokens keeps its first position. An operation, because a functional
    model needs one for strings and Keras has none, and to be one row of its summary.

    Call arguments:
        tokens: `(batch, tokens)` strings, with `""` at the end of a row alone, or
            integers.

    Returns:
        `(batch, tokens)` booleans.
    """

    def call(self, tokens: Tensor) -> Tensor:
        return keep_first_of_empty(self.tokens(tokens))

    def tokens(self, tokens: Tensor) -> Tensor:
        """Returns the mask in which a sentence without any token has no position."""
        if is_ids(tokens):
            return ops.not_equal(tokens, 0)
        tokens = padded(tokens)
        return tf.sequence_mask(sentence_lengths(tokens), tf.shape(tokens)[1])

    def compute_output_spec(self, tokens: Tensor) -> keras.KerasTensor:
        return keras.KerasTensor(tokens.shape, "bool")


@keras_class
class CharacterMask(keras.Operation):
    """Makes the mask of `ElmoEmbedding`, as one row of a model's summary.

    Args:
        keep_boundaries: whether to keep the boundaries of a sentence.

    Call arguments:
        inputs: `(batch, tokens + 2, ids_per_token)` integers, 0 where masked; or the
            layers of `precompute`, `(batch, num_layers + 1, tokens, units)`.

    Returns:
        `(batch, tokens)` booleans; with the boundaries, `(batch, tokens + 2)`.
    """

    def __init__(self, keep_boundaries: bool = False, name: str | None = None) -> None:
        super().__init__(name=name)
        self.keep_boundaries = keep_boundaries

    def call(self, inputs: Tensor) -> Tensor:
        return keep_first_of_empty(self.tokens(inputs))

    def tokens(self, inputs: Tensor) -> Tensor:
        """Returns the mask in which a sentence without any token has no position."""
        if len(inputs.shape) == 4:
            return ops.any(ops.not_equal(inputs[:, -1], 0), axis=-1)
        valid = leading(inputs[..., 0] > 0)
        # A position holds a token where the one after it is valid: that leaves out
        # both boundaries and the padding.
        return valid if self.keep_boundaries else valid[:, 2:]

    def compute_output_spec(self, inputs: Tensor) -> keras.KerasTensor:
        return keras.KerasTensor(self.output_shape(inputs.shape), "bool")

    def output_shape(self, inputs_shape: Shape) -> Shape:
        """Returns the shape of the mask of text, words, ids or layers."""
        batch, *sizes = inputs_shape
        if len(sizes) == 3:
            return batch, sizes[1]
        tokens = sizes[0] if sizes else None
        added = 2 * self.keep_boundaries - 2 * (len(sizes) == 2)
        return batch, None if tokens is None else tokens + added


def is_ids(tokens: Tensor) -> bool:
    """Whether tokens are given as integers, not as strings."""
    return "int" in str(getattr(tokens, "dtype", ""))
