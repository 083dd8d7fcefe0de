"""Which layers inside of a layer are frozen: set, asked, and stored in files."""

from collections.abc import Collection, Iterator

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


def is_frozen(layer: keras.layers.Layer) -> bool:
    """Whether nothing of a layer is trained, however its own layers were set."""
    return not any(weight.trainable for weight in layer.weights)


def frozen_layers(layer: keras.layers.Layer) -> list[str]:
    """Returns the names of the layers inside of `layer` that are frozen."""
    return [inner.name for inner in _inner_layers(layer) if not inner.trainable]


def freeze_layers(layer: keras.layers.Layer, names: Collection[str]) -> None:
    """Freezes the named layers inside of `layer`, and none of the others."""
    # Setting a layer sets those inside of it, which follow.
    for inner in _inner_layers(layer):
        inner.trainable = inner.name not in names


def _inner_layers(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    # Keras numbers the names of layers without weights, such as dropout, anew.
    inner = layer._flatten_layers(include_self=False)
    return (each for each in inner if each.weights)


def tell_tensorflow(layer: keras.layers.Layer) -> None:
    """Sets `trainable` of TensorFlow's variables to that of Keras's.

    A SavedModel stores the former, which Keras leaves as they were created.
    """
    if keras.backend.backend() == "tensorflow":
        for weight in layer.weights:
            # One of each device under a `tf.distribute` strategy.
            for variable in getattr(weight._value, "values", [weight._value]):
                variable._trainable = weight.trainable
