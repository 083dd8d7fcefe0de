"""Which layers inside of a layer are frozen: set, asked, and stored in files."""

from collections.abc import Collection, Iterator

import keras

from keras_elmo.utils.keras_private import inner_layers


class FreezableLayer(keras.layers.Layer):
    """Freezes and unfreezes all inside whenever `trainable` is set.

    On TensorFlow, Keras ignores it where the layer itself has that value already,
    though layers inside of it have another.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name == "trainable":
            set_trainable(self, bool(value))
        else:
            super().__setattr__(name, value)


def set_trainable(layer: keras.layers.Layer, value: bool) -> None:
    """Sets `trainable` of a layer and of all inside."""
    keras.layers.Layer.trainable.fset(layer, value)


def is_frozen(layer: keras.layers.Layer) -> bool:
    """Whether nothing of a layer is trained, however its own layers were set."""
    return not any(weight.trainable for weight in layer.weights)


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
    return (each for each in inner_layers(layer) if each.weights)
