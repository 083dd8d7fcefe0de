"""What the files of a model, which anybody may have made, are allowed to say."""

import os
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

Path = str | os.PathLike[str]

# Of a weight in the smallest type that one is stored in.
_LEAST_BYTES = 2

_TOKENIZERS = ("unicode", "whitespace", None)
_DTYPES = ("float32", "bfloat16", "float16", "mixed_bfloat16", "mixed_float16")


def check_size(num_weights: int, files: Iterable[Path], described_by: str) -> None:
    """Makes sure, before anything is built, that weights can be where they should be.

    So what a model takes of the memory is bounded by the size of its files.

    Args:
        num_weights: of the model.
        files: that hold them.
        described_by: the file that decides how many there are.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: together they are too small; names them.
    """
    paths = [os.fspath(path) for path in files]
    size = sum(_size(path) for path in paths)
    if size < _LEAST_BYTES * num_weights:
        raise ValueError(
            f"{', '.join(paths)}: has {size:,} bytes, too few for the {num_weights:,} "
            f"weights of the model that {described_by} describes"
        )


def _size(path: str) -> int:
    # A pipe would be waited for, a device read for ever.
    if not os.path.isfile(path):
        if os.path.exists(path):
            raise ValueError(f"{path}: must be a file")
        raise FileNotFoundError(f"{path}: no such file")
    return os.path.getsize(path)


def check_tokenizer(value: Any, where: str) -> str | None:
    """Returns the kind of tokenizer that a file names, or `None` if it is not known.

    Raises:
        ValueError: there is no such kind.
    """
    if value not in _TOKENIZERS:
        raise ValueError(
            f"{where}: the tokenizer must be 'unicode', 'whitespace' or null. "
            f"Received: {reprlib.repr(value)}"
        )
    return value


def dtype_name(value: Any, where: str) -> str:
    """Returns the name of the dtype policy that a file describes, as Keras does it.

    Keras would look up any class that a description names.

    Raises:
        ValueError: it is no policy of floating-point numbers.
    """
    name = value
    if isinstance(value, Mapping) and value.get("class_name") == "DTypePolicy":
        config = value.get("config")
        name = config.get("name") if isinstance(config, Mapping) else None
    if name not in _DTYPES:
        raise ValueError(
            f"{where}: the dtype must be one of {', '.join(_DTYPES)}. "
            f"Received: {reprlib.repr(value)}"
        )
    return name
