"""What the Keras classes here have in common: a name, fixed arguments, freezing."""

import inspect
from collections.abc import Collection, Iterator
from typing import Any, TypeVar

import keras

from keras_elmo.utils.checks import check_type
from keras_elmo.utils.keras_private import inner_layers, tell_tensorflow
from keras_elmo.utils.types import Config

_Class = TypeVar("_Class", bound=type[Any])
# Keras applies these at any time, and stores them itself.
_LIVE = {"self", "kwargs", "trainable", "tokenizer", "dtype", "name"}


def keras_class(cls: _Class) -> _Class:
    """Registers a class under "keras_elmo", and ties its objects to their arguments.

    Attributes that are named like arguments of the constructor cannot be changed: inner
    layers are made from them, so a later value would change nothing. An argument whose
    default is a boolean must be a boolean. Unless the class defines `get_config`, it
    returns the arguments.

    `trainable` reaches all layers inside, whenever it is set. On TensorFlow, Keras
    ignores it where the layer itself has that value already, though layers inside have
    another; and it leaves TensorFlow's variables as they were created, by which
    gradients are traced and SavedModels are written.
    """
    parameters = inspect.signature(cls.__init__).parameters
    names = parameters.keys() - _LIVE
    base: Any = cls
    booleans = {name for name in names if isinstance(parameters[name].default, bool)}
    set_attribute: Any = cls.__setattr__

    # A base class could not do it: Keras changes the bases of functional models.
    def __setattr__(self: Any, name: str, value: object) -> None:
        if name == "trainable":
            keras.layers.Layer.trainable.fset(self, bool(value))
            tell_tensorflow(self)
            return
        if name in names and name in vars(self):
            raise AttributeError(
                f"`{name}` of {cls.__name__} must be given when it is made. "
                f"Received: {name}={value!r}"
            )
        if name in booleans:
            # Files may hold integers.
            check_type(int, "True or False", **{name: value})
        set_attribute(self, name, value)

    def get_config(self: Any) -> Config:
        arguments = {name: getattr(self, name) for name in names}
        serialized = keras.saving.serialize_keras_object(arguments)
        return {**super(base, self).get_config(), **serialized}

    type.__setattr__(cls, "__setattr__", __setattr__)
    if cls.get_config.__module__.partition(".")[0] == "keras":
        type.__setattr__(cls, "get_config", get_config)
    return keras.saving.register_keras_serializable("keras_elmo")(cls)


def frozen_layers(layer: keras.layers.Layer) -> list[str]:
    """Returns the names of the layers inside of `layer` that are frozen."""
    return [inner.name for inner in _layers_with_weights(layer) if not inner.trainable]


def freeze_layers(layer: keras.layers.Layer, names: Collection[str]) -> None:
    """Freezes the named layers inside of `layer`, and unfreezes the rest."""
    # Setting a layer sets those inside of it, which follow.
    for inner in _layers_with_weights(layer):
        inner.trainable = inner.name not in names


def _layers_with_weights(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    # Keras numbers the names of layers without weights, such as dropout, anew.
    return (inner for inner in inner_layers(layer) if inner.weights)
