"""HDF5 files that anybody may have made, read without following them anywhere.

HDF5 can do much that weights have no use for: links into other files, numbers that lie
in other files, filters that run on what is read, chunks that unpack to any size.
"""

import contextlib
import os
from collections.abc import Iterator

import h5py

_PLAIN = (h5py.h5d.CONTIGUOUS, h5py.h5d.COMPACT)
# All that h5py raises on damage.
_DAMAGE = (OSError, RuntimeError, KeyError, TypeError, AttributeError, UnicodeError)


@contextlib.contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[h5py.File]:
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


def dataset_of(
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
