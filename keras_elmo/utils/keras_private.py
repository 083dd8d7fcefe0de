"""Uses names that Keras and TensorFlow do not document.

No other module does. tests/utils/test_keras_private.py lists the names, and checks that
they are there and do what the package expects.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import keras
from keras.src.backend.common import stateless_scope

from keras_elmo.utils.types import Tensor

# Keras's modules that write files for other runtimes; a SavedModel is TensorFlow's own.
_FORMATS = {
    "keras.src.export.litert": "LiteRT",
    "keras.src.export.onnx": "ONNX",
    "keras.src.export.openvino": "OpenVINO",
}


def inner_layers(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
    """Returns the layers inside of a layer, at any depth."""
    return list(layer._flatten_layers(include_self=False))


def tell_tensorflow(layer: keras.layers.Layer) -> None:
    """Sets `trainable` of TensorFlow's variables to that of Keras's.

    A SavedModel stores the former, which Keras leaves as they were created.
    """
    if keras.backend.backend() == "tensorflow":
        for weight in layer.weights:
            # One of each device under a `tf.distribute` strategy.
            for variable in getattr(weight._value, "values", [weight._value]):
                variable._trainable = weight.trainable


def take_as_given(layer: keras.layers.Layer) -> None:
    """Makes Keras pass on lists and NumPy arrays, whose strings it cannot convert."""
    layer._convert_input_args = False
    layer._allow_non_tensor_positional_args = True


def in_stateless_scope() -> bool:
    """Whether `keras.StatelessScope` gives variables other values."""
    return bool(stateless_scope.in_stateless_scope())


_own_format: ContextVar[str | None] = ContextVar("own_format", default=None)


@contextmanager
def exporting(format: str) -> Iterator[None]:
    """Makes graphs for another runtime, by its `export_format`, in the block."""
    token = _own_format.set(format)
    try:
        yield
    finally:
        _own_format.reset(token)


def export_format() -> str | None:
    """Returns the runtime that `model.export` is writing a file for, if it is.

    Keras tells no layer; the frames of the call do. A layer asks while a graph is made,
    so that this is no part of any step.
    """
    if (own := _own_format.get()) is not None:
        return own
    frame = sys._getframe(1) if sys.modules.keys() & _FORMATS.keys() else None
    while frame is not None:
        if (name := frame.f_globals.get("__name__")) in _FORMATS:
            return _FORMATS[name]
        frame = frame.f_back
    return None


class Optimizer(keras.optimizers.Optimizer):
    """Base of optimizers that make the slots of Keras's, and sum gradients themselves.

    A slot is what an optimizer keeps for each weight.
    """

    def set_slots(self, **slots: Iterable[Any]) -> None:
        """Sets the slots of all weights, by Keras's names: `accumulators=...`."""
        for name, values in slots.items():
            setattr(self, f"_{name}", list(values))

    def slot(self, name: str, weight: keras.Variable) -> Any:
        """Returns the slot of one weight."""
        return getattr(self, f"_{name}")[self._get_variable_index(weight)]

    def _all_reduce_sum_gradients(
        self, grads_and_vars: list[tuple[Tensor, keras.Variable]]
    ) -> list[tuple[Tensor, keras.Variable]]:
        # Keras's sum over the replicas.
        return grads_and_vars
