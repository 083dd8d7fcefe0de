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
# A chunk of at most that size may be larger than its dataset.
_SMALL_CHUNK = 1 << 26


@contextlib.contextmanager
def open_hdf5(path: StrPath) -> Iterator[h5py.File]:
    """Opens a file for reading; damage found in the block is a `ValueError`."""
    with reading(path, "not a readable HDF5 file"), h5py.File(path, "r") as file:
        yield file


class StoredArray:
    """Numbers in a file, which take no more memory than their shape says."""

    def __init__(self, dataset: h5py.Dataset) -> None:
        self.shape: tuple[int, ...] = dataset.shape
        self._dataset = dataset
        self._where = f"{dataset.file.filename}: dataset {dataset.name.strip('/')}"
        stored = dataset.id.get_type()
        if dataset.dtype.kind != "f" or not stored.equal(
            h5py.h5t.py_create(dataset.dtype)
        ):
            raise ValueError(
                f"{self._where} must hold floating-point numbers of 16, 32 or 64 bits, "
                f"not {dataset.dtype}"
            )
        properties = dataset.id.get_create_plist()
        self._chunk: tuple[int, ...] = ()
        if properties.get_layout() == h5py.h5d.CHUNKED:
            self._chunk = properties.get_chunk()
            self._chunk_bytes = math.prod(self._chunk) * dataset.dtype.itemsize
            self._filters = self._read_filters(properties)
            if self._chunk_bytes > max(_SMALL_CHUNK, dataset.nbytes):
                raise ValueError(
                    f"{self._where} must have chunks that are not larger than itself, "
                    f"not of {self._chunk}"
                )
        elif (
            properties.get_layout() not in _PLAIN
            or properties.get_external_count()
            or dataset.id.get_storage_size() < dataset.nbytes
        ):
            raise ValueError(
                f"{self._where} must be stored in the file itself, not in another "
                "one, and not left empty"
            )

    def _read_filters(self, properties: h5py.h5p.PropDCID) -> list[int]:
        """Returns the codes of the filters that chunks went through, in order."""
        filters = [properties.get_filter(k) for k in range(properties.get_nfilters())]
        codes = [code for code, *_ in filters]
        # HDF5 would search this machine for other filters, and apply gzip
        # as often as the file says.
        if codes != [code for code in (_SHUFFLE, _GZIP, _CHECKSUM) if code in codes]:
            names = [name.decode(errors="replace") for *_, name in filters]
            raise ValueError(
                f"{self._where} must be stored plain or with shuffle, gzip and "
                f"fletcher32, in this order, not with {', '.join(names)}"
            )
        return codes

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
        starts = block_starts(self.shape, self._dataset.dtype.itemsize)
        if self._chunk:
            starts = range(0, self.shape[0], self._chunk[0])
        for start in starts:
            with reading(self._where):
                if self._chunk:
                    self._check_chunks(start)
                block = self._dataset[start : start + starts.step]
            yield block.astype("float32", copy=False)

    def _check_chunks(self, start: int) -> None:
        """Checks the sizes of the chunks that hold some rows, from `start` on."""
        axes = zip(self.shape[1:], self._chunk[1:], strict=True)
        for corner in itertools.product(*(range(0, n, step) for n, step in axes)):
            self._check_chunk((start, *corner))

    def _check_chunk(self, corner: tuple[int, ...]) -> None:
        """Raises `ValueError` unless a chunk unpacks to as many bytes as it must."""
        info = self._dataset.id.get_chunk_info_by_coord(corner)
        if info.byte_offset is None:
            raise ValueError(f"{self._where} must not be left empty at {corner}")
        used = [
            code
            for k, code in enumerate(self._filters)
            if not info.filter_mask >> k & 1
        ]
        size = info.size - _CHECKSUM_BYTES * (_CHECKSUM in used)
        # What cannot be compressed grows by a little.
        if _GZIP in used and size <= 2 * self._chunk_bytes + 1024:
            _, content = self._dataset.id.read_direct_chunk(corner)
            # HDF5 itself would unpack it to any size.
            size = len(zlib.decompressobj().decompress(content, self._chunk_bytes + 1))
        if size != self._chunk_bytes:
            raise ValueError(
                f"{self._where}: the chunk at {corner} must have {self._chunk_bytes} "
                f"bytes, not {size}"
            )


def find_dataset(
    file: h5py.File, name: str, shape: tuple[int, ...], described_by: str
) -> StoredArray:
    """Returns an array without reading its numbers, or raises `ValueError`."""
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


def find_unread(file: h5py.File, names: Collection[str]) -> Iterator[str]:
    """Yields what is in the root, or beside a named dataset, and has no such name.

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
