"""A function as one graph, which all graphs that call it share."""

from collections.abc import Callable, Hashable
from typing import Any

import keras

from keras_elmo.utils.keras_private import export_format, in_stateless_scope
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Shape, Tensor


class OneGraph:
    """Traces a function and its gradient once, where Keras traces a model often.

    That is twice in `fit`, whose optimizer makes its variables the first time, once in
    `evaluate`, and twice in `predict`, if the last batch is smaller. The function
    depends on nothing but a tensor, the values of variables, and `options`, for each of
    which there is a graph.
    """

    def __init__(self, function: Callable[..., Tensor], shape: Shape) -> None:
        self._function = function
        self._shape = shape
        # A tf.function, whose type does not tell.
        self._graph: Any = None

    def __call__(self, x: Tensor, output_shape: Shape, *options: Hashable) -> Tensor:
        """Calls the function; `output_shape` is what is known of each result's."""
        if not _can_share():
            return self._function(x, *options)
        if self._graph is None:
            self._graph = tf.function(self._function, autograph=False)
        spec = tf.TensorSpec(self._shape, x.dtype)
        outputs = self._graph.get_concrete_function(spec, *options)(x)
        for output in tf.nest.flatten(outputs):
            output.set_shape(output_shape)
        return outputs


def _can_share() -> bool:
    """Whether a graph is traced, with the variables and operations of any other one.

    Under a strategy the variables are those of a device, in `keras.StatelessScope`
    tensors stand for them, and files for other runtimes have other operations.
    """
    return (
        keras.backend.backend() == "tensorflow"
        and tf.inside_function()
        and not tf.distribute.has_strategy()
        and not in_stateless_scope()
        and export_format() is None
    )
