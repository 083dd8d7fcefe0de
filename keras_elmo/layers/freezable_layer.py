"""A layer that holds layers, each of which can be frozen."""

import keras


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
