"""What the layers that take strings have in common."""

from typing import Any

import keras

from keras_elmo.optional import import_tensorflow


class StringLayer(keras.layers.Layer):
    """A Keras layer whose inputs are strings of a fixed number of axes.

    Of Keras's backends only TensorFlow has strings. On the others the layer can be
    made and saved, and its TensorFlow functions used on their own, but not called.
    """

    _num_axes: int
    # What can be made of strings where Keras has none.
    _before_the_model: str

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # Strings crash XLA, which Keras turns on by itself on a GPU.
        self.supports_jit = False
        # Keras's own conversion refuses lists and NumPy arrays of strings.
        self._convert_input_args = False
        self._allow_non_tensor_positional_args = True

    def _strings(self, value: Any, argument: str) -> Any:
        """Returns `value` as a string tensor, or says why it cannot be one."""
        self._require_tensorflow_backend()
        tf = import_tensorflow("Reading raw text")
        # An empty list has no type of its own, so it is given.
        tensor = tf.convert_to_tensor(value, tf.string)
        self._check_axes(tensor.shape, argument)
        return tensor

    def _require_tensorflow_backend(self) -> None:
        if keras.backend.backend() != "tensorflow":
            raise RuntimeError(
                f"{type(self).__name__} takes strings, which Keras has on its "
                f"TensorFlow backend only. Make {self._before_the_model} before the "
                f"model. Received: backend={keras.backend.backend()!r}"
            )

    def _check_axes(self, shape: Any, argument: str) -> None:
        if len(shape) != self._num_axes:
            raise ValueError(
                f"`{argument}` must have {self._num_axes} axes. "
                f"Received: {argument}.shape={tuple(shape)}"
            )
