"""Vectors of a text file, written as a file."""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from keras_elmo.embedding.embedder import Embedder, Tokens, windows
from keras_elmo.embedding.options import EmbedOptions
from keras_elmo.embedding.parts import (
    Manifest,
    PartFolder,
    check_manifest,
    encoder_hash,
    file_hash,
    to_numbers,
)
from keras_elmo.embedding.writers import (
    HDF5_SUFFIXES,
    PARQUET_SUFFIX,
    Hdf5Writer,
    ParquetWriter,
    VectorWriter,
    read_manifest,
)
from keras_elmo.files.loading import find_model, load
from keras_elmo.files.saved_model import is_saved_model, read_mix
from keras_elmo.models.encoder import Encoder
from keras_elmo.text.batching import TokenizedFile
from keras_elmo.text.lines import expand_files, read_lines
from keras_elmo.text.tokenizer import TOKENIZER_IF_UNKNOWN
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.prefetch import prefetch_map
from keras_elmo.utils.progress import Progress
from keras_elmo.utils.types import StrPath

# Sentences in a batch: a step of many rows costs little more than one of few.
BATCH_SIZE = 128
# The words of so many positions at the beginning of a text are cached; others are
# computed in each part. A part so depends on nothing but these words and itself.
_CACHED_POSITIONS = 524_288


def embed_file(
    model: StrPath,
    input: StrPath,
    out: StrPath,
    layers: str = EmbedOptions.layers,
    resume: bool = False,
    progress: bool = False,
    *,
    rows: str = EmbedOptions.rows,
    dtype: str = EmbedOptions.dtype,
) -> None:
    """Writes the contextual vectors of every line of a text file.

    HDF5 has the published layout: dataset `k` holds line k, counted from 0, of shape
    `(num_layers + 1, tokens, 2 * projection_units)`. Parquet has a row a token, or a
    row a line; see `ParquetWriter`. A blank line has no tokens, in both.

    The vectors of 16,384 positions at a time are written as a part into the folder
    `OUT.parts`, and joined to one file, which is renamed to `out` when it is complete.
    A process that is killed at any moment loses the part that it computes. With
    `resume`, the parts are computed that are missing; the bytes of the file are the
    same. Parts and file need twice the room of the file on the disk.

    Args:
        model: a pretraining directory, an exported SavedModel, or a shipped name.
        input: the text, UTF-8; plain, .gz or .xz.
        out: a name that ends in .hdf5, .h5 or .parquet.
        layers: `"all"`, or `"mix"`, their weighted sum: with the weights of the
            exported model, or the average. HDF5 then holds
            `(tokens, 2 * projection_units)`.
        resume: whether to go on with the parts of an interrupted call, if there are
            any. If `out` is complete, nothing is done.
        progress: whether to show a bar and messages on stderr.
        rows: `"tokens"`, or `"sentences"`, the mean over the tokens of each line;
            Parquet only.
        dtype: of the numbers in the file, `"float32"` or `"float16"`.

    Raises:
        ValueError: `out` exists or ends in something else; an option has another value
            than it may have, or than the parts were begun with; the model or the text
            cannot be read, or has changed since.
        OSError: the file cannot be written; complete parts are kept.
        KeyboardInterrupt: after Ctrl-C; says what is kept.
    """
    input, out = os.fspath(input), os.fspath(out)
    options = EmbedOptions(layers, rows, dtype)
    _check_suffix(out, options)
    files = expand_files(input)
    if len(files) > 1:
        raise ValueError(f"`input` must be one file. Received: {len(files)} of {input}")
    parts = PartFolder(out, resume)
    complete = read_manifest(out) if os.path.exists(out) else None
    if not complete:
        parts.check_out()
    if next(read_lines(files, keep_blank=True), None) is None:
        raise ValueError(f"there is no text in {files[0]}")
    model = find_model(model)
    encoder = load(model)
    mix = None
    if layers == "mix":
        exported = is_saved_model(model)
        mix = (
            mix_weights(model) if exported else _average(encoder.config.num_layers + 1)
        )
    manifest = {
        **dataclasses.asdict(options),
        "input": file_hash(files[0]),
        "model": encoder_hash(encoder, *([] if mix is None else [mix])),
    }
    if complete:
        check_manifest(complete, manifest, out)
        parts.remove()
        if progress:
            print(f"{out} is complete; nothing to do", file=sys.stderr)
        return
    text = TokenizedFile(files[0], encoder.tokenizer or TOKENIZER_IF_UNKNOWN)
    shape = options.shape(encoder.config)
    try:
        with parts.opened(manifest):
            with parts.writing():
                writer = _open(parts.joined, shape, options, manifest)
            with contextlib.closing(writer):
                computed = _compute(text, encoder, mix, parts)
                _write(computed, options, parts, writer, text.path, progress)
                with parts.writing():
                    writer.finish()
                    parts.complete()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped; {parts.kept()}") from None
    if progress:
        for message in text.stats.messages():
            print(message, file=sys.stderr)


def mix_weights(model: StrPath) -> np.ndarray:
    """Returns the factor of each layer in the mix of an exported model.

    Raises:
        ValueError: its mix is more than a weighted sum.
    """
    scalars, gamma, layer_norm = read_mix(model)
    if layer_norm:
        raise ValueError(
            f"`layers` must be 'all' for {os.fspath(model)}: its mix normalises layers "
            "by their batch, which a file does not have"
        )
    weights = np.exp(scalars - np.max(scalars))
    return gamma * weights / weights.sum()


def _average(num_layers: int) -> np.ndarray:
    return np.full(num_layers, 1 / num_layers, dtype="float32")


def _check_suffix(out: str, options: EmbedOptions) -> None:
    if out.endswith(PARQUET_SUFFIX):
        import_extra("pyarrow", "Writing Parquet", "parquet")
    elif not out.endswith(HDF5_SUFFIXES):
        raise ValueError(
            f"`out` must end in .hdf5, .h5 or .parquet. Received: out={out!r}"
        )
    elif options.rows != "tokens":
        raise ValueError(
            "`rows` must be 'tokens' for HDF5, whose layout is a dataset a line. "
            f"Received: rows={options.rows!r}, out={out!r}"
        )


def _open(
    path: str, shape: tuple[int, ...], options: EmbedOptions, manifest: Manifest
) -> VectorWriter:
    if path.endswith(PARQUET_SUFFIX):
        return ParquetWriter(path, shape, options.dtype, options.rows, manifest)
    return Hdf5Writer(path, shape, options.dtype, manifest)


class _Part(NamedTuple):
    """Lines of a text.

    Attributes:
        path: of the part.
        lines: the tokens of each line.
        vectors: of each line; `None` if the part exists.
        position: bytes of the text up to the end of the part.
    """

    path: str
    lines: list[Tokens]
    vectors: list[np.ndarray] | None
    position: int


def _compute(
    text: TokenizedFile, encoder: Encoder, mix: np.ndarray | None, parts: PartFolder
) -> Iterator[_Part]:
    """Yields the parts of a text in order, and computes those that are missing."""
    embedder: Embedder | None = None
    first_line = 0
    for window in windows(text, BATCH_SIZE):
        path = parts.part(first_line, window)
        first_line += len(window)
        vectors = None
        if not os.path.exists(path):
            embedder = embedder or _embedder(encoder, text)
            vectors = embedder.embed_window(window, BATCH_SIZE, mix, keep_words=False)
        yield _Part(path, window, vectors, text.position)


def _embedder(encoder: Encoder, text: TokenizedFile) -> Embedder:
    """Returns an embedder that knows the words at the beginning of the text."""
    embedder = Embedder(encoder)
    positions = 0
    for window in windows(TokenizedFile(text.path, text.tokenizer), BATCH_SIZE):
        embedder.cache_words(window)
        positions += sum(len(tokens) + 2 for tokens in window)
        if positions >= _CACHED_POSITIONS:
            break
    return embedder


def _write(
    computed: Iterator[_Part],
    options: EmbedOptions,
    parts: PartFolder,
    writer: VectorWriter,
    input: str,
    progress: bool,
) -> None:
    """Writes and joins parts in a thread, while the next one is computed."""

    def write(part: _Part) -> _Part:
        with parts.writing():
            if part.vectors is None:
                numbers = parts.read(part.path)
            else:
                numbers = to_numbers(part.vectors, options)
                parts.write(part.path, numbers)
            writer.append(part.lines, numbers)
        return part

    size = os.path.getsize(input)
    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(Progress("Embedding", size)) if progress else None
        for part in prefetch_map(write, computed, num_threads=1):
            if bar:
                is_new = part.vectors is not None
                bar.update(is_new * sum(map(len, part.lines)), part.position)
        if bar:
            bar.update(0, size)
