"""What an exported SavedModel holds, read back without running it."""

import json
import os
from typing import Any

from keras_elmo.config import ElmoConfig
from keras_elmo.models.encoder import Encoder
from keras_elmo.optional import import_tensorflow

# Servers ignore this folder; the layer is rebuilt from what stands in it.
ASSETS = "assets.extra"
DESCRIPTION = "keras_elmo.json"
# The encoder's variables in the checkpoint, in the order of `Encoder.weights`, and
# the mix's.
WEIGHTS = "encoder_weights"
SCALARS = "mix_scalars"
GAMMA = "mix_gamma"

_KEYS = ("options", "tokenizer", "dtype", "layer_norm")


def is_saved_model(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a folder that `export_saved_model` wrote."""
    return os.path.exists(os.path.join(path, ASSETS, DESCRIPTION))


def read_saved_model(path: str | os.PathLike[str]) -> Encoder:
    """Rebuilds the encoder of an exported SavedModel, on whichever backend.

    Raises:
        ValueError: the folder is not one that `export_saved_model` wrote.
    """
    stored = _description(path)
    encoder = Encoder(
        ElmoConfig.from_options(stored["options"]),
        trainable=False,
        tokenizer=stored["tokenizer"],
        dtype=stored["dtype"],
    )
    variables = _Variables(path)
    for k, weight in enumerate(encoder.weights):
        weight.assign(variables.read(f"{WEIGHTS}/{k}"))
    return encoder


def read_mix(path: str | os.PathLike[str]) -> tuple[Any, Any, bool]:
    """Returns the mix's raw scalars, its gamma, and whether it normalises layers."""
    variables = _Variables(path)
    scalars, gamma = variables.read(SCALARS), variables.read(GAMMA)
    return scalars, gamma, _description(path)["layer_norm"]


def _description(path: str | os.PathLike[str]) -> dict[str, Any]:
    description = os.path.join(path, ASSETS, DESCRIPTION)
    if not os.path.exists(description):
        raise ValueError(
            f"`path` must be a folder that export_saved_model wrote; {description} is "
            f"missing. Received: path={os.fspath(path)!r}"
        )
    with open(description, encoding="utf-8") as file:
        try:
            stored = json.load(file)
            return {key: stored[key] for key in _KEYS}
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{description}: damaged: {error!r}") from error


class _Variables:
    """The variables of a SavedModel, by the attribute that holds them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        tf = import_tensorflow("Reading a SavedModel")
        self._path = os.path.join(path, "variables", "variables")
        self._errors = (tf.errors.OpError, ValueError)
        try:
            self._checkpoint = tf.train.load_checkpoint(self._path)
        except self._errors as error:
            raise ValueError(f"{self._path}: cannot be read: {error}") from error

    def read(self, attribute: str) -> Any:
        name = f"{attribute}/.ATTRIBUTES/VARIABLE_VALUE"
        if not self._checkpoint.has_tensor(name):
            raise ValueError(f"{self._path}: lacks the variable {attribute}")
        try:
            return self._checkpoint.get_tensor(name)
        except self._errors as error:
            raise ValueError(f"{self._path}: cannot be read: {error}") from error
