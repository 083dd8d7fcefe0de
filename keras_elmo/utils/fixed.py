"""Attributes of layers that cannot change after the layer is made."""

import inspect
from typing import Any, TypeVar

from keras_elmo.utils.checks import check_type

Class = TypeVar("Class", bound=type[Any])
# Keras applies these at any time.
_LIVE = {"self", "kwargs", "trainable", "tokenizer", "dtype", "name"}


def fixed_arguments(cls: Class) -> Class:
    """Refuses to change attributes that are named like arguments of the constructor.

    Inner layers are made from them, so a later value would change nothing. An argument
    whose default is a boolean must be a boolean.
    """
    parameters = inspect.signature(cls.__init__).parameters
    names = parameters.keys() - _LIVE
    booleans = {name for name in names if isinstance(parameters[name].default, bool)}
    set_attribute: Any = cls.__setattr__

    def __setattr__(self: Any, name: str, value: object) -> None:
        if name in names and name in vars(self):
            raise AttributeError(
                f"`{name}` of {cls.__name__} must be given when it is made. "
                f"Received: {name}={value!r}"
            )
        if name in booleans:
            # Files may hold integers.
            check_type(int, "True or False", **{name: value})
        set_attribute(self, name, value)

    type.__setattr__(cls, "__setattr__", __setattr__)
    return cls
