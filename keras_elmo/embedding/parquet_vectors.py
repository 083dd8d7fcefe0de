"""Vectors as a Parquet table, a row a token or a row a line."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from keras_elmo.utils.lazy import import_extra

# Of a row group, which is in memory until it is written.
_GROUP_BYTES = 32 * 2**20
_MAGIC = b"PAR1"


class ParquetVectors:
    """Appends vectors to a file; `finish` makes it a Parquet table.

    Each checkpoint ends with the index of the rows since the one before, as a table's
    end does, and the end of the whole table is an index of all rows. What was written
    stays as it is, so the file can be cut off behind any checkpoint and gone on with.

    A row a token has the columns `line`, `position` (the token's place in the line),
    `token`, and its vectors; a row a line has `line`, `num_tokens`, and the mean of
    its tokens' vectors, which is zero for a line without tokens. Vectors are
    fixed-size lists, `layer_0`, `layer_1`, ..., or `mix`.

    Args:
        path: the file; it is made if it is not there.
        shape: of a token's vectors, `(units,)` or `(layers, units)`.
        dtype: `"float32"` or `"float16"`.
        rows: `"tokens"` or `"sentences"`.
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
        first_line: int = 0,
    ) -> None:
        self._arrow = import_extra("pyarrow", "Writing Parquet", "parquet")
        self._parquet = import_extra("pyarrow.parquet", "Writing Parquet", "parquet")
        self._path = path
        self._dtype = np.dtype(dtype)
        self._by_token = rows == "tokens"
        self._schema = self._schema_of(shape)
        self._line = first_line
        self._lines: list[tuple[int, Sequence[bytes], np.ndarray]] = []
        self._bytes = 0
        self._writer: Any = None
        os.close(self._open())

    def skip(self, num_lines: int) -> None:
        """Takes note of lines that the file holds already."""
        self._line += num_lines

    def write(self, lines: Iterable[tuple[Sequence[bytes], np.ndarray]]) -> None:
        """Appends tokens and vectors of lines."""
        for tokens, vectors in lines:
            # Of a mix there is one layer.
            vectors = vectors if vectors.ndim == 3 else vectors[None]
            if not self._by_token:
                vectors = vectors.sum(axis=1, keepdims=True) / max(len(tokens), 1)
            vectors = vectors.astype(self._dtype, copy=False)
            self._lines.append((self._line, tokens, vectors))
            self._line += 1
            self._bytes += vectors.nbytes
            if self._bytes >= _GROUP_BYTES:
                self._write_group()

    def checkpoint(self) -> int:
        """Brings all of it to the disk, with its index, and returns its size."""
        self._write_group()
        self._writer.close()
        self._sink.close()
        self._writer = None
        return self._to_disk()

    def finish(self, ends: Sequence[int]) -> None:
        """Writes the index of all rows, given where the checkpoints' indices end."""
        with open(self._path, "r+b") as file:
            first, *others = (self._index(file, end) for end in ends)
            for index in others:
                first.append_row_groups(index)
            sink = self._arrow.BufferOutputStream()
            first.write_metadata_file(sink)
            file.seek(0, os.SEEK_END)
            file.write(sink.getvalue().to_pybytes().removeprefix(_MAGIC))
        self._to_disk()

    def close(self) -> None:
        if self._writer is not None:
            # It would write an index, and complain on standard error if it cannot.
            self._writer.is_open = False
            self._sink.close()

    def _schema_of(self, shape: tuple[int, ...]) -> Any:
        arrow = self._arrow
        number = arrow.field("element", arrow.from_numpy_dtype(self._dtype), False)
        vector = arrow.list_(number, shape[-1])
        names = [f"layer_{k}" for k in range(shape[0])] if len(shape) > 1 else ["mix"]
        if self._by_token:
            about = {"position": arrow.int64(), "token": arrow.string()}
        else:
            about = {"num_tokens": arrow.int64()}
        columns = {"line": arrow.int64(), **about, **dict.fromkeys(names, vector)}
        return arrow.schema(arrow.field(*column, False) for column in columns.items())

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o666)

    def _write_group(self) -> None:
        if self._writer is None:
            self._begin()
        if self._lines:
            self._writer.write_table(self._table())
        self._lines, self._bytes = [], 0

    def _begin(self) -> None:
        """pyarrow begins with the format's first bytes at the beginning of a file."""
        descriptor = self._open()
        about = [name for name in self._schema.names if not self._is_vector(name)]
        self._sink = self._arrow.OSFile(descriptor, "wb")
        self._writer = self._parquet.ParquetWriter(
            self._sink,
            self._schema,
            # Vectors neither repeat nor shrink, and trying costs more than writing.
            use_dictionary=about,
            compression=dict.fromkeys(about, "snappy"),
            write_statistics=["line"],
        )
        # They stand there already; what follows has its place behind the rest.
        os.lseek(descriptor, 0, os.SEEK_END)

    def _is_vector(self, name: str) -> bool:
        return bool(self._arrow.types.is_fixed_size_list(self._schema.field(name).type))

    def _table(self) -> Any:
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
        fields = list(self._schema)[len(about) :]
        columns = [
            self._arrow.FixedSizeListArray.from_arrays(layer.ravel(), type=field.type)
            for layer, field in zip(
                np.concatenate(vectors, axis=1), fields, strict=True
            )
        ]
        return self._arrow.table([*about, *columns], schema=self._schema)

    def _index(self, file: Any, end: int) -> Any:
        """Reads what stands before a checkpoint's end: the index, its size, PAR1."""
        file.seek(end - 8)
        size = int.from_bytes(file.read(4), "little")
        file.seek(end - 8 - size)
        index = _MAGIC + file.read(size + 8)
        return self._parquet.read_metadata(self._arrow.BufferReader(index))

    def _to_disk(self) -> int:
        with open(self._path, "rb") as file:
            os.fsync(file.fileno())
            return file.seek(0, os.SEEK_END)
