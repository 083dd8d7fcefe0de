"""Writers of vectors, as HDF5, Parquet or lines of JSON."""

import contextlib
import json
import math
import os
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, TextIO, TypeAlias

import h5py
import numpy as np

from keras_elmo.embedding.options import EmbedOptions
from keras_elmo.embedding.parts import Manifest, mean_over_tokens
from keras_elmo.text.batching import Tokens
from keras_elmo.utils.files import parse_json_object
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.reading import reading

if TYPE_CHECKING:
    import pyarrow

HDF5_SUFFIXES = (".hdf5", ".h5")
PARQUET_SUFFIX = ".parquet"
# The name of a file's manifest among its attributes.
_MANIFEST = "keras_elmo"
_TEXT = h5py.string_dtype()
# Bytes of a row group, which is in memory until it is written.
_GROUP_BYTES = 32 * 2**20
# Decimals of a number in JSON.
_DECIMALS = {"float32": 7, "float16": 4}


def read_manifest(path: str) -> Manifest | None:
    """Returns what a file was made from; `None` if it does not say."""
    with contextlib.suppress(OSError, ValueError), reading(path):
        if path.endswith(PARQUET_SUFFIX):
            parquet = import_extra("pyarrow.parquet", "Reading Parquet", "parquet")
            metadata = parquet.read_schema(path).metadata or {}
            content = metadata.get(_MANIFEST.encode(), b"")
        else:
            with h5py.File(path) as file:
                content = file.attrs.get(_MANIFEST, "").encode()
        return parse_json_object(content, path)
    return None


class Hdf5Writer:
    """Writes dataset `k` for line k: `(tokens, units)`, or `(layers, tokens, units)`.

    Its attribute `tokens` is a JSON list of the words: an attribute, because a reader
    may take every name in the file for a line.

    The library makes the datasets and tells where each begins; the numbers are written
    there directly, which takes a third of the time.

    Args:
        path: of the file; one that exists is replaced.
        shape: of a token's vectors, `(units,)` or `(layers, units)`.
        dtype: `"float32"` or `"float16"`.
        manifest: what the file is made from.
    """

    def __init__(
        self, path: str, shape: tuple[int, ...], dtype: str, manifest: Manifest
    ) -> None:
        self._shape = shape
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._type = h5py.h5t.py_create(self._dtype)
        self._layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        # A dataset has its place at once, and nothing is written there before us.
        self._layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        self._layout.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        # The same text gives the same bytes, whenever that is.
        self._layout.set_obj_track_times(False)
        self._text = h5py.h5t.py_create(_TEXT, logical=True)
        self._scalar = h5py.h5s.create(h5py.h5s.SCALAR)
        self._line = 0
        self._file = h5py.File(path, "w", locking=False)
        self._file.attrs[_MANIFEST] = json.dumps(manifest)
        self._numbers = os.open(path, os.O_WRONLY)

    def append(self, lines: Sequence[Tokens], numbers: np.ndarray) -> None:
        """Writes the next lines: their tokens, and what `to_numbers` returns."""
        content = numbers.astype(self._dtype, copy=False).view("uint8").data
        for tokens in lines:
            shape = (*self._shape[:-1], len(tokens), self._shape[-1])
            space = h5py.h5s.create_simple(shape)
            name = b"%d" % self._line
            dataset = h5py.h5d.create(
                self._file.id, name, self._type, space, self._layout
            )
            words = h5py.h5a.create(dataset, b"tokens", self._text, self._scalar)
            words.write(np.array(_json(tokens), _TEXT))
            size = math.prod(shape) * self._dtype.itemsize
            # A blank line has no numbers and no place.
            _write_at(self._numbers, dataset.get_offset() or 0, content[:size])
            content = content[size:]
            self._line += 1

    def finish(self) -> None:
        """Writes what is left.

        Raises:
            OSError: the disk is full.
        """
        try:
            self._file.close()
        except RuntimeError as error:
            raise OSError(f"HDF5: {error}") from error

    def close(self) -> None:
        """Closes the file, complete or not."""
        os.close(self._numbers)
        with contextlib.suppress(RuntimeError):
            self._file.close()


def _json(tokens: Tokens) -> str:
    return json.dumps([token.decode() for token in tokens], ensure_ascii=False)


def _write_at(file: int, place: int, content: memoryview) -> None:
    while content:
        written = os.pwrite(file, content, place)
        content, place = content[written:], place + written


class ParquetWriter:
    """Writes a table.

    A row a token has the columns `line`, `position` (the token's place in the line),
    `token`, and its vectors; a row a line has `line`, `num_tokens`, and the mean of
    its tokens' vectors, which is zero for a line without tokens. Vectors are
    fixed-size lists, `layer_0`, `layer_1`, ..., or `mix`.

    Args:
        path: of the file; one that exists is replaced.
        shape: of a token's vectors, `(units,)` or `(layers, units)`.
        dtype: `"float32"` or `"float16"`.
        rows: `"tokens"` or `"sentences"`.
        manifest: what the file is made from, if it is to say so.
        first_line: number of the first line.

    Raises:
        ImportError: pyarrow is not installed.
    """

    def __init__(
        self,
        path: str,
        shape: tuple[int, ...],
        dtype: str,
        rows: str,
        manifest: Manifest | None = None,
        first_line: int = 0,
    ) -> None:
        self._arrow: ModuleType = import_extra("pyarrow", "Writing Parquet", "parquet")
        parquet = import_extra("pyarrow.parquet", "Writing Parquet", "parquet")
        self._shape = shape if len(shape) == 2 else (1, *shape)
        self._by_token = rows == "tokens"
        about, vectors = self._columns(len(shape) == 1, np.dtype(dtype))
        fields = {**about, **vectors}.items()
        metadata = {_MANIFEST: json.dumps(manifest)} if manifest else None
        self._schema = self._arrow.schema(
            [self._arrow.field(*field, False) for field in fields], metadata
        )
        self._writer = parquet.ParquetWriter(
            path,
            self._schema,
            # Vectors neither repeat nor shrink, and trying costs more than writing.
            use_dictionary=list(about),
            compression=dict.fromkeys(about, "snappy"),
            write_statistics=["line"],
        )
        self._line = first_line
        self._lines: list[tuple[int, Tokens, np.ndarray]] = []
        self._bytes = 0

    def append(self, lines: Sequence[Tokens], numbers: np.ndarray) -> None:
        """Writes the next lines: their tokens, and what `to_numbers` returns."""
        layers, units = self._shape
        for tokens in lines:
            rows = len(tokens) if self._by_token else 1
            vectors, numbers = np.split(numbers, [layers * rows * units])
            vectors = vectors.reshape(layers, rows, units)
            self._lines.append((self._line, tokens, vectors))
            self._line += 1
            self._bytes += vectors.nbytes
            if self._bytes >= _GROUP_BYTES:
                self._write_group()

    def finish(self) -> None:
        """Writes what is left, and the index."""
        self._write_group()
        self._writer.close()

    def close(self) -> None:
        """Closes the file, complete or not."""
        if self._writer.is_open:
            # It would write an index, and complain on standard error if it cannot.
            self._writer.is_open = False
            self._writer.file_handle.close()

    def _columns(
        self, is_mix: bool, dtype: np.dtype
    ) -> tuple[dict[str, "pyarrow.DataType"], dict[str, "pyarrow.DataType"]]:
        """Returns the types of the columns beside the vectors, and of the vectors."""
        arrow = self._arrow
        layers, units = self._shape
        number = arrow.field("element", arrow.from_numpy_dtype(dtype), False)
        names = ["mix"] if is_mix else [f"layer_{k}" for k in range(layers)]
        about = {"line": arrow.int64()}
        if self._by_token:
            about |= {"position": arrow.int64(), "token": arrow.string()}
        else:
            about |= {"num_tokens": arrow.int64()}
        return about, dict.fromkeys(names, arrow.list_(number, units))

    def _write_group(self) -> None:
        if not self._lines:
            return
        lines, tokens, vectors = zip(*self._lines, strict=True)
        counts = list(map(len, tokens))
        if self._by_token:
            about = [
                np.repeat(lines, counts),
                np.concatenate([np.arange(count) for count in counts]),
                [token.decode() for each in tokens for token in each],
            ]
        else:
            about = [np.array(lines), np.array(counts)]
        columns = [
            self._arrow.FixedSizeListArray.from_arrays(layer.ravel(), type=field.type)
            for layer, field in zip(
                np.concatenate(vectors, axis=1),
                list(self._schema)[len(about) :],
                strict=True,
            )
        ]
        table = self._arrow.table([*about, *columns], schema=self._schema)
        self._writer.write_table(table)
        self._lines, self._bytes = [], 0


class JsonLinesWriter:
    """Writes a JSON object for each line.

    It has `line`, `tokens`, and the vectors: `layer_0`, `layer_1`, ..., or `mix`, of
    shape `(tokens, units)`, or `(units,)` if they are the mean over the tokens; float32
    is rounded to 7 decimals, float16 to 4.

    Args:
        stream: is written to.
        options: decide on layers, rows and type.
    """

    def __init__(self, stream: TextIO, options: EmbedOptions) -> None:
        self._stream = stream
        self._options = options
        self._decimals = _DECIMALS[options.dtype]
        self._line = 0

    def append(self, lines: Sequence[Tokens], vectors: Sequence[np.ndarray]) -> None:
        """Writes the next lines: their tokens and vectors."""
        for tokens, each in zip(lines, vectors, strict=True):
            if self._options.rows == "sentences":
                each = mean_over_tokens(each)
            numbers = np.round(each.astype("float64"), self._decimals).tolist()
            if self._options.layers == "mix":
                layers = {"mix": numbers}
            else:
                layers = {f"layer_{k}": layer for k, layer in enumerate(numbers)}
            words = [token.decode() for token in tokens]
            content = {"line": self._line, "tokens": words, **layers}
            self._stream.write(json.dumps(content, ensure_ascii=False) + "\n")
            self._line += 1
        self._stream.flush()


VectorWriter: TypeAlias = Hdf5Writer | ParquetWriter


def open_writer(
    path: str, shape: tuple[int, ...], options: EmbedOptions, manifest: Manifest
) -> VectorWriter:
    """Returns the writer of a file, by its suffix."""
    if path.endswith(PARQUET_SUFFIX):
        return ParquetWriter(path, shape, options.dtype, options.rows, manifest)
    return Hdf5Writer(path, shape, options.dtype, manifest)
