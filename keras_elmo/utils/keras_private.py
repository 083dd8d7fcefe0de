"""Uses names that Keras and TensorFlow do not document; no other module does.

tests/utils/test_keras_private.py lists the names and checks that they exist and do what
the package expects.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import keras
from keras.src.backend.common import stateless_scope

from keras_elmo.utils.types import Tensor

# Keras's modules that write files for runtimes other than TensorFlow.
_FORMATS = {
    "keras.src.export.litert": "LiteRT",
    "keras.src.export.onnx": "ONNX",
    "keras.src.export.openvino": "OpenVINO",
}


def inner_layers(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
    """Returns the layers inside a layer, at any depth."""
    return list(layer._flatten_layers(include_self=False))


def tell_tensorflow(layer: keras.layers.Layer) -> None:
    """Copies `trainable` from Keras's variables to TensorFlow's.

    A SavedModel stores the latter, which Keras never changes.
    """
    if keras.backend.backend() == "tensorflow":
        for weight in layer.weights:
            # Under a `tf.distribute` strategy each device has one.
            for variable in getattr(weight._value, "values", [weight._value]):
                variable._trainable = weight.trainable


def take_as_given(layer: keras.layers.Layer) -> None:
    """Makes Keras pass on lists and arrays of strings, which it cannot convert."""
    layer._convert_input_args = False
    layer._allow_non_tensor_positional_args = True


def in_stateless_scope() -> bool:
    """Whether the code runs inside `keras.StatelessScope`."""
    return bool(stateless_scope.in_stateless_scope())


_own_format: ContextVar[str | None] = ContextVar("own_format", default=None)


@contextmanager
def exporting(format: str) -> Iterator[None]:
    """Makes the block write graphs for another runtime, named by `export_format`."""
    token = _own_format.set(format)
    try:
        yield
    finally:
        _own_format.reset(token)


def export_format() -> str | None:
    """Returns the runtime for which `model.export` is writing a file, or `None`.

    Keras does not tell layers, but the frames of the call do. Layers ask only while a
    graph is traced, so no step takes longer.
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
    """Base class of optimizers that have Keras's slots and sum gradients themselves.

    A slot is what an optimizer keeps for each weight.
    """

    def set_slots(self, **slots: Iterable[object]) -> None:
        """Sets the slots of all weights, by Keras's names: `accumulators=...`."""
        for name, values in slots.items():
            setattr(self, f"_{name}", list(values))

    def slot(self, name: str, weight: keras.Variable) -> Any:
        """Returns the slot of one weight."""
        return getattr(self, f"_{name}")[self._get_variable_index(weight)]

    def _all_reduce_sum_gradients(
        self, grads_and_vars: list[tuple[Tensor, keras.Variable]]
    ) -> list[tuple[Tensor, keras.Variable]]:
        # Keras would sum over the replicas here.
        return grads_and_vars
