"""A SavedModel that `export_saved_model` wrote, ready to be called."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from keras_elmo.files.saved_model import read_description
from keras_elmo.serving.errors import Code, ServingError
from keras_elmo.serving.signature import Signature
from keras_elmo.text.tokenizer import register_operations

_DEFAULT = "serving_default"
# What TensorFlow and protobuf raise when a file is damaged, or of somebody else's.
_ERRORS = (
    tf.errors.OpError,
    DecodeError,
    OSError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
)


class Model:
    """One version of a model.

    Args:
        path: the folder of the SavedModel.
        version: its number.

    Attributes:
        loaded: what TensorFlow has loaded; its variables live as long as it does.
        signatures: what can be called, by name.
        signature_defs: what the SavedModel says of them, in protobuf's JSON.

    Raises:
        ValueError: the folder is not one that `export_saved_model` wrote, or is
            damaged.
    """

    def __init__(self, path: str | os.PathLike[str], version: int) -> None:
        self.version = version
        about = read_description(path)
        register_operations(about["tokenizer"] or "whitespace")
        try:
            self.signature_defs = _signature_defs(path)
            self.loaded = tf.saved_model.load(os.fspath(path))
            # Layer normalisation takes the mean of all that is in a batch.
            self.signatures = _signatures(self.loaded, not about["layer_norm"])
        except _ERRORS as error:
            raise ValueError(
                f"{os.fspath(path)}: cannot be loaded: {error!r}"
            ) from error
        self._users = 0
        self._unused = threading.Condition()

    def signature(self, name: str) -> Signature:
        """Returns a signature.

        Args:
            name: `""` for what a client gets that asks for none by name.

        Raises:
            ServingError: there is none of that name.
        """
        name = name or _DEFAULT
        if name not in self.signatures:
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f'Serving signature name: "{name}" not found in signature def; '
                f"there are {', '.join(sorted(self.signatures))}",
            )
        return self.signatures[name]

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """While the block runs, `wait_until_unused` waits."""
        with self._unused:
            self._users += 1
        try:
            yield
        finally:
            with self._unused:
                self._users -= 1
                self._unused.notify_all()

    def wait_until_unused(self) -> None:
        """Returns when nobody uses the model."""
        with self._unused:
            self._unused.wait_for(lambda: not self._users)


def _signatures(loaded: Any, joins: bool) -> dict[str, Signature]:
    made = {
        name: Signature(function, joins)
        for name, function in loaded.signatures.items()
        if name != _DEFAULT
    }
    if _DEFAULT in loaded.signatures:
        # The same function, for clients that ask for none by name.
        made[_DEFAULT] = made["default"]
    for signature in set(made.values()):
        signature.warm_up()
    return made


def _signature_defs(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What the SavedModel says of its signatures, as JSON has it."""
    saved = SavedModel()
    with open(os.path.join(path, "saved_model.pb"), "rb") as file:
        saved.ParseFromString(file.read())
    return {
        name: MessageToDict(
            definition,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
        )
        for name, definition in saved.meta_graphs[0].signature_def.items()
    }
