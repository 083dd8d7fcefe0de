"""Reads arrays of HDF5 files, which anybody may have made, within a bound on memory."""

import contextlib
import itertools
import math
import zlib
from collections.abc import Collection, Iterator

import h5py
import numpy as np

from keras_elmo.utils.large_variables import block_starts
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import StrPath

_PLAIN = (h5py.h5d.CONTIGUOUS, h5py.h5d.COMPACT)
_SHUFFLE, _GZIP = h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE
_CHECKSUM, _CHECKSUM_BYTES = h5py.h5z.FILTER_FLETCHER32, 4
# A chunk of that size may be larger than its dataset.
_SMALL_CHUNK = 1 << 26


@contextlib.contextmanager
def open_hdf5(path: StrPath) -> Iterator[h5py.File]:
    """Opens a file for reading; damage found in the block is a `ValueError`."""
    with reading(path, "not a readable HDF5 file"), h5py.File(path, "r") as file:
        yield file


class StoredArray:
    """Floating-point numbers in a file; they take no more memory than their shape says.

    Args:
        dataset: that holds them, plain or in chunks.

    Raises:
        ValueError: they are stored in another way.
    """

    def __init__(self, dataset: h5py.Dataset) -> None:
        self.shape: tuple[int, ...] = dataset.shape
        self._dataset = dataset
        self._where = f"{dataset.file.filename}: dataset {dataset.name.strip('/')}"
        if dataset.dtype.kind != "f":
            raise ValueError(
                f"{self._where} must hold floating-point numbers, not {dataset.dtype}"
            )
        properties = dataset.id.get_create_plist()
        in_chunks = properties.get_layout() == h5py.h5d.CHUNKED
        self._chunk: tuple[int, ...] = properties.get_chunk() if in_chunks else ()
        self._filters = [
            properties.get_filter(k) for k in range(properties.get_nfilters())
        ]
        if in_chunks:
            self._check_chunks()
        elif (
            properties.get_layout() not in _PLAIN
            or properties.get_external_count()
            or dataset.id.get_storage_size() < dataset.nbytes
        ):
            raise ValueError(
                f"{self._where} must be stored in the file itself, not in another "
                "one, and not left empty"
            )

    def _check_chunks(self) -> None:
        for code, _, values, name in self._filters:
            # HDF5 would look for others among the programs of this machine.
            if code not in (_SHUFFLE, _GZIP, _CHECKSUM):
                raise ValueError(
                    f"{self._where} must be stored plain or with gzip, shuffle and "
                    f"fletcher32, not with {name.decode(errors='replace') or code}"
                )
            if code == _SHUFFLE and values[:1] != (self._dataset.dtype.itemsize,):
                raise ValueError(f"{self._where}: shuffled in pieces of another size")
        if self._chunk_bytes() > max(_SMALL_CHUNK, self._dataset.nbytes):
            raise ValueError(
                f"{self._where} must have chunks that are not larger than itself, not "
                f"of {self._chunk}"
            )
        stored = self._dataset.id.get_type()
        if not stored.equal(h5py.h5t.py_create(self._dataset.dtype)):
            raise ValueError(
                f"{self._where}, in chunks, must hold float16, float32 or float64"
            )

    def _chunk_bytes(self) -> int:
        return math.prod(self._chunk) * self._dataset.dtype.itemsize

    def read(self) -> np.ndarray:
        """Returns all numbers in float32."""
        array = np.empty(self.shape, "float32")
        start = 0
        for block in self.blocks():
            array[start : start + len(block)] = block
            start += len(block)
        return array

    def blocks(self) -> Iterator[np.ndarray]:
        """Yields the rows in float32, some at a time."""
        if self._chunk:
            yield from map(self._rows, range(0, self.shape[0], self._chunk[0]))
            return
        starts = block_starts(self.shape, self._dataset.dtype.itemsize)
        for start in starts:
            block = self._dataset[start : start + starts.step]
            yield block.astype("float32", copy=False)

    def _rows(self, start: int) -> np.ndarray:
        """Returns the rows that chunks from `start` on hold."""
        _, *rest = self.shape
        rows = np.empty((min(self._chunk[0], self.shape[0] - start), *rest), "float32")
        steps = zip(rest, self._chunk[1:], strict=True)
        for corner in itertools.product(*(range(0, n, step) for n, step in steps)):
            places = (0, *corner)
            target = rows[
                tuple(slice(k, k + n) for k, n in zip(places, self._chunk, strict=True))
            ]
            chunk = self._read_chunk((start, *corner))
            target[...] = chunk[tuple(slice(size) for size in target.shape)]
        return rows

    def _read_chunk(self, corner: tuple[int, ...]) -> np.ndarray:
        """Unpacks a chunk; HDF5 itself would unpack it to any size."""
        size = self._chunk_bytes()
        info = self._dataset.id.get_chunk_info_by_coord(corner)
        if info.byte_offset is None:
            raise ValueError(f"{self._where} must not be left empty at {corner}")
        # What cannot be compressed grows by a little.
        if info.size > 2 * size + 1024:
            raise ValueError(f"{self._where}: the chunk at {corner} is too large")
        skipped, content = self._dataset.id.read_direct_chunk(corner)
        for k, (code, *_) in reversed(list(enumerate(self._filters))):
            if skipped >> k & 1:
                continue
            if code == _CHECKSUM:
                content = content[:-_CHECKSUM_BYTES]
            elif code == _GZIP:
                content = self._unzip(content, size + _CHECKSUM_BYTES)
            elif len(content) == size:
                pieces = np.frombuffer(content, "uint8")
                pieces = pieces.reshape(self._dataset.dtype.itemsize, -1)
                content = np.ascontiguousarray(pieces.T).tobytes()
        if len(content) != size:
            raise ValueError(f"{self._where}: the chunk at {corner} is damaged")
        return np.frombuffer(content, self._dataset.dtype).reshape(self._chunk)

    def _unzip(self, content: bytes, most: int) -> bytes:
        try:
            return zlib.decompressobj().decompress(content, most)
        except zlib.error as error:
            raise ValueError(f"{self._where}: {error}") from error


def find_dataset(
    file: h5py.File, name: str, shape: tuple[int, ...], described_by: str
) -> StoredArray:
    """Returns an array without reading its numbers.

    Raises:
        ValueError: it is missing, has another shape than `described_by` asks for, or is
            not stored as `StoredArray` reads it.
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
    return StoredArray(dataset)


def others_beside(file: h5py.File, names: Collection[str]) -> Iterator[str]:
    """Yields what else stands in the root and in the groups of some datasets.

    No other group is entered: a file may have any number of them in one another.
    """
    parents = {
        name[:place] for name in names for place, c in enumerate(name) if c == "/"
    }
    for parent in ("", *sorted(parents)):
        prefix = f"{parent}/" if parent else ""
        for member in file[parent or "/"]:
            name = prefix + member
            if name not in parents and name not in names:
                yield name


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
