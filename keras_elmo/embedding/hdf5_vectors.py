"""Vectors as an HDF5 file, a dataset a line: the layout of bilm-tf's dumps."""

import os
from array import array
from collections.abc import Iterable, Sequence

import h5py
import numpy as np

from keras_elmo.utils.files import reserve


class Hdf5Vectors:
    """Fills a file whose datasets are all there from the beginning.

    Dataset `k` holds line k, `(tokens, units)`, or `(layers, tokens, units)`.

    HDF5's library changes the index of a file with every new dataset, and a process
    that is killed meanwhile leaves a file that cannot be opened. So the library makes
    all datasets first, and what is killed then has nothing to lose. It tells where the
    vectors of each have their place, and they are written there: the index stays as it
    is. Of a line, eight bytes stay in memory, its place.

    Args:
        path: the file; it is made if it is not there, or empty, and takes all its room
            on the disk at once.
        shape: of a token's vectors, `(units,)` or `(layers, units)`.
        dtype: `"float32"` or `"float16"`.
        num_tokens: of each line; read only if the file is made.

    Raises:
        OSError: there is no room for the file.
    """

    def __init__(
        self,
        path: str,
        shape: tuple[int, ...],
        dtype: str,
        num_tokens: Iterable[int],
    ) -> None:
        self._dtype = np.dtype(dtype).newbyteorder("<")
        if os.path.exists(path) and os.path.getsize(path):
            self._places = _places(path)
        else:
            self._places = make_datasets(path, shape, self._dtype, num_tokens)
        self._line = 0
        self._file = os.open(path, os.O_RDWR)

    def skip(self, num_lines: int) -> None:
        """Takes note of lines that the file holds already."""
        self._line += num_lines

    def write(self, lines: Iterable[tuple[Sequence[bytes], np.ndarray]]) -> None:
        """Writes the vectors of the next lines to their places."""
        for _, vectors in lines:
            content = np.ascontiguousarray(vectors, self._dtype).tobytes()
            _write_at(self._file, self._places[self._line], content)
            self._line += 1

    def checkpoint(self) -> int:
        """Brings all of it to the disk, and returns the size of the file."""
        os.fsync(self._file)
        return os.fstat(self._file).st_size

    def finish(self, ends: Sequence[int]) -> None:
        """Does nothing: the file is complete when its vectors are."""

    def close(self) -> None:
        os.close(self._file)


def make_datasets(
    path: str, shape: tuple[int, ...], dtype: np.dtype, num_tokens: Iterable[int]
) -> "array[int]":
    """Makes a file of datasets that nothing is written to yet, and reserves its room.

    Returns:
        Where the vectors of each line begin in the file.

    Raises:
        OSError: there is none.
    """
    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    layout.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    # The same text gives the same bytes, whenever that is.
    layout.set_obj_track_times(False)
    number = h5py.h5t.py_create(dtype)
    places = array("q")
    try:
        # Who calls holds the file; HDF5's own lock would be in the way of that.
        with h5py.File(path, "w", locking=False) as file:
            for line, count in enumerate(num_tokens):
                space = h5py.h5s.create_simple((*shape[:-1], count, shape[-1]))
                made = h5py.h5d.create(file.id, b"%d" % line, number, space, layout)
                places.append(_place(made))
    except RuntimeError as error:
        # What h5py raises when a file cannot be closed.
        raise OSError(f"HDF5: {error}") from error
    with open(path, "r+b") as whole:
        reserve(whole.fileno(), os.path.getsize(path))
        os.fsync(whole.fileno())
    return places


def _places(path: str) -> "array[int]":
    """Returns what `make_datasets` did, of a file that is there."""
    with h5py.File(path, locking=False) as file:
        places = array("q", bytes(8 * len(file)))

        def note(name: bytes) -> None:
            places[int(name)] = _place(h5py.h5d.open(file.id, name))

        # In the index's own order, of which HDF5 keeps little in memory.
        file.id.links.iterate(note)
    return places


def _place(dataset: h5py.h5d.DatasetID) -> int:
    # A blank line has no vectors and no place; nothing is written of it.
    return dataset.get_offset() or 0


def _write_at(file: int, place: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        written = os.pwrite(file, left, place)
        left, place = left[written:], place + written
