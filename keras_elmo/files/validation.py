"""Checks of model files, which anybody may have made."""

import os
import reprlib
from collections.abc import Iterable, Mapping

from keras_elmo.config import TOKENIZERS
from keras_elmo.utils.types import StrPath

# Of a weight: by gzip, one takes 1.8 bytes in float16 and 3.4 in float32.
_MIN_BYTES = 0.5

_DTYPES = ("float32", "bfloat16", "float16", "mixed_bfloat16", "mixed_float16")


class NoLanguageModel(ValueError):
    """A folder holds an encoder alone."""


def check_size(num_weights: int, files: Iterable[StrPath], described_by: str) -> None:
    """Checks, before a model is built, that files are large enough for its weights.

    So the size of the files bounds the memory that a model takes. `described_by` is the
    file that says how many weights there are.
    """
    paths = [os.fspath(path) for path in files]
    size = sum(_size(path) for path in paths)
    if size < _MIN_BYTES * num_weights:
        raise ValueError(
            f"{', '.join(paths)}: has {size:,} bytes, too few for the {num_weights:,} "
            f"weights of the model that {described_by} describes"
        )


def _size(path: str) -> int:
    # Reading a pipe would block, reading a device would not end.
    if not os.path.isfile(path):
        if os.path.exists(path):
            raise ValueError(f"{path}: must be a file")
        raise FileNotFoundError(f"{path}: no such file")
    return os.path.getsize(path)


def check_tokenizer(value: object, where: str) -> str | None:
    """Returns the kind of tokenizer that a file names, `None` if it is not known."""
    if value is None or (isinstance(value, str) and value in TOKENIZERS):
        return value
    raise ValueError(
        f"{where}: the tokenizer must be {', '.join(map(repr, TOKENIZERS))} or null. "
        f"Received: {reprlib.repr(value)}"
    )


def check_dtype(value: object, where: str) -> str:
    """Returns the name of the dtype policy that a file describes as Keras does.

    Keras itself would look up any class that a description names.
    """
    name = value
    if isinstance(value, Mapping) and value.get("class_name") == "DTypePolicy":
        config = value.get("config")
        name = config.get("name") if isinstance(config, Mapping) else None
    if not isinstance(name, str) or name not in _DTYPES:
        raise ValueError(
            f"{where}: the dtype must be one of {', '.join(_DTYPES)}. "
            f"Received: {reprlib.repr(value)}"
        )
    return name
