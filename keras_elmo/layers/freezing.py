"""Which layers inside of a layer are frozen: set, and stored in files."""

from collections.abc import Collection, Iterator
from typing import Any, TypeVar

import keras

from keras_elmo.utils.keras_private import inner_layers, tell_tensorflow

_Class = TypeVar("_Class", bound=type[Any])


def freezable(cls: _Class) -> _Class:
    """Makes `trainable` of a layer or model reach all inside, whenever it is set.

    On TensorFlow, Keras ignores it where the layer itself has that value already,
    though layers inside of it have another; and it leaves TensorFlow's variables as
    they were created, by which gradients are traced and SavedModels are written.
    """
    set_attribute: Any = cls.__setattr__

    # A base class could not do it: Keras changes the bases of functional models.
    def __setattr__(self: Any, name: str, value: object) -> None:
        if name == "trainable":
            keras.layers.Layer.trainable.fset(self, bool(value))
            tell_tensorflow(self)
        else:
            set_attribute(self, name, value)

    type.__setattr__(cls, "__setattr__", __setattr__)
    return cls


def frozen_layers(layer: keras.layers.Layer) -> list[str]:
    """Returns the names of the layers inside of `layer` that are frozen."""
    return [inner.name for inner in _layers_with_weights(layer) if not inner.trainable]


def freeze_layers(layer: keras.layers.Layer, names: Collection[str]) -> None:
    """Freezes the named layers inside of `layer`, and none of the others."""
    # Setting a layer sets those inside of it, which follow.
    for inner in _layers_with_weights(layer):
        inner.trainable = inner.name not in names


def _layers_with_weights(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    # Keras numbers the names of layers without weights, such as dropout, anew.
    return (inner for inner in inner_layers(layer) if inner.weights)
