"""Writers of vectors, as HDF5, Parquet or lines of JSON."""

import contextlib
import json
import os
from collections.abc import Sequence
from types import ModuleType
from typing import TextIO

import h5py
import numpy as np

from keras_elmo.embedding.embed_options import EmbedOptions
from keras_elmo.embedding.parts import Manifest
from keras_elmo.text.batching import Tokens
from keras_elmo.utils.files import parse_json_object
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.reading import reading

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


class VectorWriter:
    """Writes lines and their vectors; `shape` is the shape of a token's vectors."""

    def __init__(
        self, shape: tuple[int, ...], options: EmbedOptions, first_line: int = 0
    ) -> None:
        *self._layers, self._units = shape
        # Without an axis of layers, there is a mix.
        self._names = [f"layer_{k}" for k in range(*self._layers or [0])] or ["mix"]
        self._options = options
        self._line = first_line

    def append(self, lines: Sequence[Tokens], numbers: Sequence[np.ndarray]) -> None:
        """Writes the next lines: their tokens, and what `EmbedOptions.numbers` returns.

        The shape of a line's numbers is not looked at.
        """
        for tokens, vectors in zip(lines, numbers, strict=True):
            rows = self._options.num_rows(tokens)
            self._write(tokens, vectors.reshape(len(self._names), rows, self._units))
            self._line += 1

    def _write(self, tokens: Tokens, vectors: np.ndarray) -> None:
        """Writes a line; its vectors have the shape `(layers, rows, units)`."""
        raise NotImplementedError

    def finish(self) -> None:
        """Writes what is left, or raises `OSError`."""

    def close(self) -> None:
        """Closes the file, complete or not."""


class Hdf5Writer(VectorWriter):
    """Writes dataset `k` for line k, counted from 0.

    Its shape is `(num_layers + 1, tokens, 2 * projection_units)`, or without the first
    axis if `layers` is `"mix"`. Its attribute `tokens` is a JSON list of the words: an
    attribute, because a reader may take every name in the file for a line. A file that
    exists is replaced.
    """

    def __init__(
        self,
        path: str,
        shape: tuple[int, ...],
        options: EmbedOptions,
        manifest: Manifest,
    ) -> None:
        super().__init__(shape, options)
        self._type = h5py.h5t.py_create(np.dtype(options.dtype).newbyteorder("<"))
        # Types in memory, which h5py would make anew for each line.
        self._native = h5py.h5t.py_create(np.dtype(options.dtype))
        self._objects = h5py.h5t.py_create(_TEXT)
        # `create_dataset` would decide on these anew for each line.
        self._layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        self._layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        self._layout.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        # The same text gives the same bytes at any time.
        self._layout.set_obj_track_times(False)
        self._text = h5py.h5t.py_create(_TEXT, logical=True)
        self._scalar = h5py.h5s.create(h5py.h5s.SCALAR)
        access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        access.set_libver_bounds(h5py.h5f.LIBVER_EARLIEST, h5py.h5f.LIBVER_LATEST)
        access.set_file_locking(False, ignore_when_disabled=False)
        # Else HDF5 keeps numbers back, and a full disk crashes it when it closes.
        access.set_sieve_buf_size(0)
        new = h5py.h5f.create(os.fsencode(path), h5py.h5f.ACC_TRUNC, fapl=access)
        self._file = h5py.File(new)
        self._file.attrs[_MANIFEST] = json.dumps(manifest)

    def _write(self, tokens: Tokens, vectors: np.ndarray) -> None:
        vectors = vectors.reshape(*self._layers, len(tokens), self._units)
        space = h5py.h5s.create_simple(vectors.shape)
        name = b"%d" % self._line
        dataset = h5py.h5d.create(self._file.id, name, self._type, space, self._layout)
        words = json.dumps([token.decode() for token in tokens], ensure_ascii=False)
        attribute = h5py.h5a.create(dataset, b"tokens", self._text, self._scalar)
        attribute.write(np.array(words, _TEXT), self._objects)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, vectors, self._native)

    def finish(self) -> None:
        try:
            self._file.close()
        except RuntimeError as error:
            raise OSError(f"HDF5: {error}") from error

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._file.close()


class ParquetWriter(VectorWriter):
    """Writes a table.

    A token's row has the columns `line`, `position` (the token's place in the line),
    `token`, and its vectors; a line's row has `line`, `num_tokens`, and the mean of its
    tokens' vectors, which is zero for a line without tokens. Vectors are
    fixed-size lists, `layer_0`, `layer_1`, ..., or `mix`. A file that exists is
    replaced.
    """

    def __init__(
        self,
        path: str,
        shape: tuple[int, ...],
        options: EmbedOptions,
        manifest: Manifest | None = None,
        first_line: int = 0,
    ) -> None:
        super().__init__(shape, options, first_line)
        self._arrow: ModuleType = import_extra("pyarrow", "Writing Parquet", "parquet")
        parquet = import_extra("pyarrow.parquet", "Writing Parquet", "parquet")
        arrow = self._arrow
        about = {"line": arrow.int64()}
        if options.rows == "tokens":
            about |= {"position": arrow.int64(), "token": arrow.string()}
        else:
            about |= {"num_tokens": arrow.int64()}
        dtype = arrow.from_numpy_dtype(np.dtype(options.dtype))
        number = arrow.field("element", dtype, False)
        self._vectors = arrow.list_(number, self._units)
        fields = about | dict.fromkeys(self._names, self._vectors)
        metadata = {_MANIFEST: json.dumps(manifest)} if manifest else None
        self._schema = arrow.schema(
            [arrow.field(*field, False) for field in fields.items()], metadata
        )
        self._writer = parquet.ParquetWriter(
            path,
            self._schema,
            # Vectors neither repeat nor shrink, and trying costs more than writing.
            use_dictionary=list(about),
            compression=dict.fromkeys(about, "snappy"),
            write_statistics=["line"],
        )
        self._lines: list[tuple[int, Tokens, np.ndarray]] = []
        self._bytes = 0

    def _write(self, tokens: Tokens, vectors: np.ndarray) -> None:
        self._lines.append((self._line, tokens, vectors))
        self._bytes += vectors.nbytes
        if self._bytes >= _GROUP_BYTES:
            self._write_group()

    def finish(self) -> None:
        self._write_group()
        self._writer.close()

    def close(self) -> None:
        if self._writer.is_open:
            # It would write an index, and complain on standard error if it cannot.
            self._writer.is_open = False
            self._writer.file_handle.close()

    def _write_group(self) -> None:
        if not self._lines:
            return
        lines, tokens, vectors = zip(*self._lines, strict=True)
        counts = list(map(len, tokens))
        if self._options.rows == "tokens":
            about = [
                np.repeat(lines, counts),
                np.concatenate([np.arange(count) for count in counts]),
                [token.decode() for line in tokens for token in line],
            ]
        else:
            about = [np.array(lines), np.array(counts)]
        columns = [
            self._arrow.FixedSizeListArray.from_arrays(
                layer.ravel(), type=self._vectors
            )
            for layer in np.concatenate(vectors, axis=1)
        ]
        table = self._arrow.table([*about, *columns], schema=self._schema)
        self._writer.write_table(table)
        self._lines, self._bytes = [], 0


class JsonLinesWriter(VectorWriter):
    """Writes a JSON object for each line.

    It has `line`, `tokens`, and the vectors: `layer_0`, `layer_1`, ..., or `mix`, of
    shape `(tokens, units)`, or `(units,)` if they are the mean over the tokens; float32
    is rounded to 7 decimals, float16 to 4.
    """

    def __init__(
        self, stream: TextIO, shape: tuple[int, ...], options: EmbedOptions
    ) -> None:
        super().__init__(shape, options)
        self._stream = stream
        self._decimals = _DECIMALS[options.dtype]

    def append(self, lines: Sequence[Tokens], numbers: Sequence[np.ndarray]) -> None:
        super().append(lines, numbers)
        self._stream.flush()

    def _write(self, tokens: Tokens, vectors: np.ndarray) -> None:
        rounded = np.round(vectors.astype("float64"), self._decimals)
        layers = rounded if self._options.rows == "tokens" else rounded[:, 0]
        content = {"line": self._line, "tokens": [token.decode() for token in tokens]}
        content |= dict(zip(self._names, layers.tolist(), strict=True))
        self._stream.write(json.dumps(content, ensure_ascii=False) + "\n")
