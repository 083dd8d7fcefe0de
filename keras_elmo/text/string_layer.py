"""Strings in Keras: layers on them, and rows of tokens padded with `""`."""

import keras
from keras.backend import standardize_dtype

from keras_elmo.utils.keras_private import export_format, take_as_given
from keras_elmo.utils.lazy import do_not_convert, tf
from keras_elmo.utils.types import Shape, Tensor

_EMPTY = (
    '`tokens` must be padded with "" at the end of a row, and hold no empty string '
    "before a token. Received: a row"
)


def are_strings(inputs: Tensor) -> bool:
    """Whether tensors, arrays or nested lists hold strings."""
    dtype = getattr(inputs, "dtype", None)
    if dtype is None:
        first = next(iter(keras.tree.flatten(inputs)), None)
        return isinstance(first, str | bytes)
    # NumPy has strings of four kinds.
    return "string" in str(dtype) or getattr(dtype, "kind", "") in set("OSTU")


class StringsFirst:
    """Lets a layer stand first in a `keras.Sequential` without an `Input`.

    Keras makes an input of the layer's `compute_dtype`, which has to be its
    `variable_dtype`, as of `keras.layers.TextVectorization`. The dtype policy is
    another matter: inner layers and results follow it.
    """

    # What the layer takes on a backend without strings, and how to do without them.
    _dtype_without_strings = "string"
    _alternative: str

    @property
    def compute_dtype(self) -> str:
        if keras.backend.backend() == "tensorflow":
            return "string"
        return self._dtype_without_strings

    @property
    def variable_dtype(self) -> str:
        return self.compute_dtype

    def _require_tensorflow_backend(self) -> None:
        if keras.backend.backend() != "tensorflow":
            raise RuntimeError(
                f"{type(self).__name__} takes strings, which Keras has on its "
                f"TensorFlow backend only. Make {self._alternative} before the "
                f"model. Received: backend={keras.backend.backend()!r}"
            )


@do_not_convert
class StringLayer(StringsFirst, keras.layers.Layer):
    """A Keras layer on strings of a fixed number of axes.

    Only Keras's TensorFlow backend has strings. On other backends the layer can be
    created and saved, but not called.
    """

    _num_axes: int

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        # Strings crash XLA, which Keras turns on on a GPU.
        self.supports_jit = False
        take_as_given(self)

    def _strings(self, value: Tensor, argument: str) -> Tensor:
        """Converts to a string tensor, checks backend, type and axes."""
        self._require_tensorflow_backend()
        if (runtime := export_format()) is not None:
            raise ValueError(
                f"{type(self).__name__} takes strings, which a model for {runtime} "
                "cannot: export a model that begins with the character ids, "
                "`keras.Input((None, 50), dtype='int32')`, and make the ids before it. "
                f"Received: {argument} in a model to be exported"
            )
        if hasattr(value, "dtype"):
            self._check(value, argument)
        tensor = padded(value)
        self._check(tensor, argument)
        return tensor

    def _check(self, value: Tensor, argument: str, dtype: str = "string") -> None:
        """Checks type and axes of a tensor."""
        received = "string" if are_strings(value) else standardize_dtype(value.dtype)
        if received != dtype or not self._has_axes(value.shape):
            raise ValueError(
                f"`{argument}` must have {self._num_axes} axes, of {dtype} values. "
                f"Received: {argument}.shape={tuple(value.shape)}, "
                f"{argument}.dtype={received}"
            )

    def _has_axes(self, shape: Shape) -> bool:
        return len(shape) == self._num_axes


def padded(tokens: Tensor) -> Tensor:
    """Converts strings, ragged or not, to a string tensor padded with `""`.

    Later layers need at least one position, which a ragged tensor therefore gets.
    """
    if not isinstance(tokens, tf.RaggedTensor):
        return tf.convert_to_tensor(tokens, tf.string)
    tokens = tokens.to_tensor("")
    missing = tf.cast(tf.shape(tokens)[1] == 0, tf.int32)
    return tf.pad(tokens, [[0, 0], [0, missing]], constant_values="")


@do_not_convert
def sentence_lengths(tokens: Tensor) -> Tensor:
    """Returns the `(batch,)` int32 numbers of tokens in rows padded with `""`.

    An empty string before a token is a `ValueError`. Where the values are not known
    yet, in a graph, running it raises `tf.errors.InvalidArgumentError`.
    """
    filled = tokens != ""
    follows_empty = filled[:, 1:] & ~filled[:, :-1]
    wrong = tf.boolean_mask(tokens, tf.reduce_any(follows_empty, axis=1))
    if tf.executing_eagerly():
        if len(wrong):
            raise ValueError(f"{_EMPTY} {wrong[0].numpy().tolist()}")
        return tf.math.count_nonzero(filled, axis=1, dtype=tf.int32)
    check = tf.debugging.Assert(tf.size(wrong) == 0, [_EMPTY, wrong[:1]], summarize=9)
    # So that what uses the lengths has passed the check.
    with tf.control_dependencies([check]):
        return tf.math.count_nonzero(filled, axis=1, dtype=tf.int32)
