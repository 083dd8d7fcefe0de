"""The vectors of a text file, as a file."""

import contextlib
import os
import sys
from itertools import islice, tee
from typing import Any, Protocol

import h5py
import numpy as np

from keras_elmo.files.embeddings import embed
from keras_elmo.files.loading import load
from keras_elmo.files.saved_model import is_saved_model, read_mix
from keras_elmo.optional import import_extra
from keras_elmo.progress import Progress
from keras_elmo.text.lines import expand_files, read_lines
from keras_elmo.text.report import Report
from keras_elmo.text.token_chunks import tokenized_lines

Path = str | os.PathLike[str]

# Lines between two moments at which what is written is safe on the disk.
_LINES_AT_A_TIME = 512
# Of the biLM: a step of many rows costs little more than one of few.
_BATCH_SIZE = 128


class _Writer(Protocol):
    """Takes the vectors of one line after the other."""

    num_written: int

    def write(self, tokens: list[bytes], vectors: np.ndarray) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


def embed_file(
    model: Path,
    input: Path,
    out: Path,
    layers: str = "all",
    resume: bool = False,
    progress: bool = False,
) -> None:
    """Writes the contextual vectors of every line of a text file.

    HDF5 has the published layout: dataset `k` holds line k, counted from 0,
    `(num_layers + 1, tokens, 2 * projection_units)`. Parquet has a row a token: the
    line, the token's place in it, the token, and a fixed-size list a layer. A blank
    line has no tokens, in both. The file appears under its name when it is complete;
    until then it is `OUT.unfinished`.

    Args:
        model: a pretraining directory, an exported SavedModel, or a shipped name.
        input: the text, UTF-8; plain, .gz or .xz.
        out: a name that ends in .hdf5, .h5 or .parquet.
        layers: `"all"`, or `"mix"`, their mix alone: that of the exported model, or
            the average. HDF5 then holds `(tokens, 2 * projection_units)`.
        resume: whether to go on with the `OUT.unfinished` of an interrupted call;
            HDF5 only.
        progress: whether to show a bar and messages on stderr.

    Raises:
        ValueError: `out` exists or ends in something else; `layers` is another word;
            the model or the text cannot be read.
    """
    input, out = os.fspath(input), os.fspath(out)
    files = expand_files(input)
    if len(files) > 1:
        raise ValueError(f"`input` must be one file. Received: {len(files)} of {input}")
    if os.path.exists(out):
        raise ValueError(f"{out} exists already; name another file, or remove it")
    if layers not in ("all", "mix"):
        raise ValueError(f"`layers` must be 'all' or 'mix'. Received: {layers!r}")
    writer_type = _writer_type(out, resume)
    if next(read_lines(files, keep_blank=True), None) is None:
        raise ValueError(f"there is no text in {files[0]}")
    encoder = load(model)
    mix = _mix_weights(model, encoder.config.num_layers) if layers == "mix" else None
    unfinished = f"{out}.unfinished"
    report = Report()
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count

    with contextlib.ExitStack() as stack:
        writer = writer_type(unfinished, resume)
        stack.callback(writer.close)
        bar = None
        if progress:
            size = os.path.getsize(files[0])
            bar = stack.enter_context(Progress("Embedding", size))
        lines = read_lines(files, report, advance, keep_blank=True)
        sentences = tokenized_lines(lines, encoder.tokenizer or "whitespace", report)
        sentences = islice(sentences, writer.num_written, None)
        sentences, ahead = tee(sentences)
        embedded = zip(sentences, embed(encoder, ahead, _BATCH_SIZE), strict=True)
        while chunk := list(islice(embedded, _LINES_AT_A_TIME)):
            for tokens, vectors in chunk:
                if mix is not None:
                    vectors = np.tensordot(mix, vectors, axes=1)
                writer.write(tokens, vectors)
            writer.flush()
            if bar is not None:
                bar.update(sum(len(tokens) for tokens, _ in chunk), position=done)
    os.replace(unfinished, out)
    if progress:
        for message in report.messages():
            print(message, file=sys.stderr)


def _mix_weights(model: Path, num_layers: int) -> np.ndarray:
    if not is_saved_model(model):
        return np.full(num_layers + 1, 1 / (num_layers + 1), dtype="float32")
    scalars, gamma, layer_norm = read_mix(model)
    if layer_norm:
        raise ValueError(
            f"`layers` must be 'all' for {os.fspath(model)}: its mix normalises layers "
            "by their batch, which a file does not have"
        )
    weights = np.exp(scalars - np.max(scalars))
    return gamma * weights / weights.sum()


def _writer_type(out: str, resume: bool) -> Any:
    if out.endswith((".hdf5", ".h5")):
        return _Hdf5Writer
    if out.endswith(".parquet"):
        if resume:
            raise ValueError(f"`resume` needs HDF5: {out} would have to be begun again")
        return _ParquetWriter
    raise ValueError(f"`out` must end in .hdf5, .h5 or .parquet. Received: out={out!r}")


class _Hdf5Writer:
    """A dataset a line, named by its number: the layout of bilm-tf's dumps."""

    def __init__(self, path: str, resume: bool) -> None:
        try:
            self._file = h5py.File(path, "a" if resume else "w")
        except OSError as error:
            raise ValueError(
                f"{path}: cannot be gone on with: {error}; remove it and begin again"
            ) from error
        self.num_written = len(self._file)
        if self.num_written:
            # The interruption may have come before the last one was filled.
            self.num_written -= 1
            del self._file[str(self.num_written)]

    def write(self, tokens: list[bytes], vectors: np.ndarray) -> None:
        self._file.create_dataset(str(self.num_written), data=vectors)
        self.num_written += 1

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class _ParquetWriter:
    """A row a token."""

    num_written = 0

    def __init__(self, path: str, resume: bool) -> None:
        self._arrow = import_extra("pyarrow", "Writing Parquet", "parquet")
        self._parquet = import_extra("pyarrow.parquet", "Writing Parquet", "parquet")
        self._path = path
        self._file: Any = None
        self._lines: list[tuple[int, list[bytes], np.ndarray]] = []

    def write(self, tokens: list[bytes], vectors: np.ndarray) -> None:
        # Of a mix there is one layer.
        vectors = vectors if vectors.ndim == 3 else vectors[None]
        self._lines.append((self.num_written, tokens, vectors))
        self.num_written += 1

    def flush(self) -> None:
        arrow = self._arrow
        vectors = np.concatenate([vectors for *_, vectors in self._lines], axis=1)
        rows = [
            (line, place, token.decode())
            for line, tokens, _ in self._lines
            for place, token in enumerate(tokens)
        ]
        # With their types, which blank lines alone do not tell.
        columns = {
            "line": arrow.array([line for line, _, _ in rows], arrow.int64()),
            "position": arrow.array([place for _, place, _ in rows], arrow.int64()),
            "token": arrow.array([token for _, _, token in rows], arrow.string()),
        }
        for k, layer in enumerate(vectors):
            name = f"layer_{k}" if len(vectors) > 1 else "mix"
            columns[name] = arrow.FixedSizeListArray.from_arrays(
                arrow.array(layer.ravel(), arrow.float32()), layer.shape[-1]
            )
        table = arrow.table(columns)
        if self._file is None:
            self._file = self._parquet.ParquetWriter(self._path, table.schema)
        self._file.write_table(table)
        self._lines = []

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
