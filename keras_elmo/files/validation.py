"""Checks of model files, which anybody may have made."""

import contextlib
import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping

import h5py

from keras_elmo.utils.types import StrPath

# Of a weight in the smallest type that is stored.
_MIN_BYTES = 2

_TOKENIZERS = ("unicode", "whitespace")
_DTYPES = ("float32", "bfloat16", "float16", "mixed_bfloat16", "mixed_float16")


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
    if value is None or (isinstance(value, str) and value in _TOKENIZERS):
        return value
    raise ValueError(
        f"{where}: the tokenizer must be 'unicode', 'whitespace' or null. "
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


# === HDF5 ===

_PLAIN = (h5py.h5d.CONTIGUOUS, h5py.h5d.COMPACT)
# What h5py raises for damaged files.
_DAMAGE = (OSError, RuntimeError, KeyError, TypeError, AttributeError, UnicodeError)


@contextlib.contextmanager
def open_hdf5(path: StrPath) -> Iterator[h5py.File]:
    """Opens a file for reading; damage found in the block is a `ValueError`."""
    try:
        with h5py.File(path, "r") as file:
            yield file
    except _DAMAGE as error:
        raise ValueError(
            f"{os.fspath(path)}: not a readable HDF5 file: {error}"
        ) from error


def find_dataset(
    file: h5py.File, name: str, shape: tuple[int, ...], described_by: str
) -> h5py.Dataset:
    """Returns a dataset without reading its numbers.

    Raises:
        ValueError: the dataset is missing, has another shape than `described_by` asks
            for, holds no floating-point numbers, or is not stored in the file as it is.
    """
    where = file.filename
    _check_links(file, name)
    dataset = file.get(name)
    if not isinstance(dataset, h5py.Dataset):
        raise ValueError(f"{where}: lacks the dataset {name}, {shape}")
    if dataset.shape != shape:
        raise ValueError(
            f"{where}: dataset {name} has the shape {dataset.shape}, but "
            f"{described_by} asks for {shape}"
        )
    if dataset.dtype.kind != "f":
        raise ValueError(
            f"{where}: dataset {name} must hold floating-point numbers, not "
            f"{dataset.dtype}"
        )
    properties = dataset.id.get_create_plist()
    plain = properties.get_layout() in _PLAIN and not properties.get_external_count()
    if not plain or dataset.id.get_storage_size() < dataset.nbytes:
        raise ValueError(
            f"{where}: dataset {name} must be stored in the file as it is: in one "
            "piece, not compressed, not in another file, and not left empty"
        )
    return dataset


def _check_links(file: h5py.File, name: str) -> None:
    """Refuses links to another place or to another file."""
    parts = name.split("/")
    for end in range(1, len(parts) + 1):
        part = "/".join(parts[:end])
        link = file.get(part, getlink=True)
        if link is None:
            return
        if not isinstance(link, h5py.HardLink):
            raise ValueError(
                f"{file.filename}: {part} must not be a link to another place. "
                f"Received: {link!r}"
            )
