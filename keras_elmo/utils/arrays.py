"""Reads and writes arrays in NumPy's format, one per file."""

import os
from collections.abc import Iterable, Sequence
from typing import IO

import numpy as np

from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import StrPath


def map_array(path: StrPath, dtype: np.dtype | str, num_axes: int = 1) -> np.ndarray:
    """Maps an array without reading it, or raises `ValueError`."""
    with reading(path):
        # Opening a pipe would wait.
        if not os.path.isfile(path):
            raise ValueError("no such file")
        array = np.lib.format.open_memmap(path, mode="r")
    if array.dtype != dtype or array.ndim != num_axes:
        where = os.fspath(path)
        raise ValueError(f"{where}: must hold {dtype} of {num_axes} axes")
    return array


def write_array(path: StrPath, values: np.ndarray) -> None:
    """Writes an array or raises `OSError`, where `np.save` may notice nothing."""
    with open(path, "wb") as file:
        write_blocks(file, values.dtype, values.shape, [values])


def write_blocks(
    file: IO[bytes],
    dtype: np.dtype | str,
    shape: Sequence[int],
    blocks: Iterable[np.ndarray],
) -> None:
    """Writes an array that comes in blocks, without a copy of the whole."""
    about = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(dtype)),
        "fortran_order": False,
        "shape": tuple(shape),
    }
    np.lib.format.write_array_header_1_0(file, about)
    for block in blocks:
        file.write(np.ascontiguousarray(block).data)
