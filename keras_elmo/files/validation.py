"""What the files of a model, which anybody may have made, are allowed to say."""

import contextlib
import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import h5py

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


def check_dtype(value: Any, where: str) -> str:
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


_PLAIN = (h5py.h5d.CONTIGUOUS, h5py.h5d.COMPACT)
# All that h5py raises on damage.
_DAMAGE = (OSError, RuntimeError, KeyError, TypeError, AttributeError, UnicodeError)


@contextlib.contextmanager
def open_hdf5(path: str | os.PathLike[str]) -> Iterator[h5py.File]:
    """Yields an open file.

    Raises:
        ValueError: it is damaged; names the file.
    """
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
    """Returns a dataset, before any of its numbers is read.

    Args:
        file: an open file.
        name: of the dataset.
        shape: that it must have.
        described_by: what decides that.

    Raises:
        ValueError: there is none, it has another shape, holds no floating-point
            numbers, or they do not simply lie in the file; names the file.
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
            f"{where}: dataset {name} must lie in the file as it is: in one piece, not "
            "compressed, not in another file, and not left empty"
        )
    return dataset


def _check_links(file: h5py.File, name: str) -> None:
    """Refuses a name that leads to another place, or to another file."""
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
