"""Keras optimizers and schedules as the values of JSON that a run's manifest holds."""

import copy
import json
import reprlib
from collections.abc import Iterator

import keras

from keras_elmo.utils.checks import called
from keras_elmo.utils.types import Config


def to_config(optimizer: object) -> Config:
    """Returns the config of an optimizer, from which a later process builds it anew."""
    try:
        text = json.dumps(keras.saving.serialize_keras_object(optimizer))
        config: Config = json.loads(text)
        again = from_config(config, "")
        if json.loads(json.dumps(keras.saving.serialize_keras_object(again))) != config:
            raise ValueError("its get_config does not mirror its __init__")
    except Exception as error:
        raise ValueError(
            f"{called('optimizer')} must be serializable, for a run that is resumed: "
            "registered by keras.saving.register_keras_serializable, with a get_config "
            f"of all arguments. Received: optimizer={optimizer!r}: {error}"
        ) from error
    return config


def from_config(config: Config, where: str) -> object:
    """Builds what `to_config` described, from Keras's and registered classes alone."""
    for inner in _configs(config):
        module, name = inner.get("module"), inner.get("registered_name")
        is_own = isinstance(module, str) and module.split(".")[0] == "keras"
        if not is_own and keras.saving.get_registered_object(str(name)) is None:
            raise ValueError(
                f"{where}: the class {reprlib.repr(inner.get('class_name'))} must be "
                "registered by keras.saving.register_keras_serializable before"
            )
    try:
        # Keras may change what it reads.
        copied = copy.deepcopy(config)
        keras_object = keras.saving.deserialize_keras_object(copied)
        if isinstance(keras_object, dict):
            raise ValueError("the module, the class or its config is missing")
    except Exception as error:
        raise ValueError(f"{where}: no object of Keras: {error}") from error
    return keras_object


def _configs(value: object) -> Iterator[Config]:
    """Yields the dictionaries inside that name a class."""
    if isinstance(value, dict):
        if "class_name" in value:
            yield value
        for inner in value.values():
            yield from _configs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _configs(inner)
