"""Vectors of a text file, written as a file."""

import contextlib
import dataclasses
import math
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from keras_elmo.embedding.embed_options import EmbedOptions
from keras_elmo.embedding.embedder import BATCH_SIZE, layer_factors, windows
from keras_elmo.embedding.parts import (
    Line,
    Manifest,
    Part,
    PartFolder,
    check_manifest,
    compute_parts,
    encoder_hash,
)
from keras_elmo.embedding.writers import (
    HDF5_SUFFIXES,
    PARQUET_SUFFIX,
    Hdf5Writer,
    JsonLinesWriter,
    ParquetWriter,
    read_manifest,
)
from keras_elmo.files.loading import open_model
from keras_elmo.files.sources import AnyEncoder, Source, tokenizer_of
from keras_elmo.text.batching import tokenized_file
from keras_elmo.text.lines import check_files, expand_files, read_lines
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.checks import called, received
from keras_elmo.utils.files import check_parent, file_hash
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.memory import keep_freed_memory
from keras_elmo.utils.prefetch import prefetch_map
from keras_elmo.utils.progress import Progress
from keras_elmo.utils.temporary import kept
from keras_elmo.utils.types import StrPath

# Stands for the standard streams.
STANDARD = "-"


def embed_file(
    model: Source,
    input: StrPath,
    out: StrPath,
    resume: bool = False,
    progress: bool = False,
    **options: Any,
) -> None:
    """Writes the contextual vectors of every line of a text file.

    HDF5 has the published layout, a dataset per line; Parquet has one row per token, or
    per line; standard output gets one JSON object per line. See `Hdf5Writer`,
    `ParquetWriter` and `JsonLinesWriter`. A blank line has no tokens.

    The vectors of 16,384 positions at a time are written as a part into the folder
    `OUT.parts`, and joined to one file, which is renamed to `out` when it is complete.
    A process that is killed loses the part that it was computing. With `resume`, what
    is missing is computed; the bytes of the file are the same. Parts and file together
    need twice the file's size on the disk.

    Args:
        model: a name or path or another model as of `load`.
        input: the text, UTF-8; plain, .gz or .xz; `"-"` for standard input.
        out: a name that ends in .hdf5, .h5 or .parquet; `"-"` for standard output.
        resume: whether to continue with the parts of an interrupted call, if there are
            any. If `out` is complete, nothing is done.
        progress: whether to show a bar and messages on stderr.
        **options: fields of `EmbedOptions`.

    Raises:
        ValueError: `out` exists or ends in something else; an option has another value
            than it may have, or than the parts were begun with; the model or the text
            cannot be read, or has changed since.
        OSError: the file cannot be written; complete parts are kept.
        KeyboardInterrupt: after Ctrl-C; says what is kept.
    """
    input, out = os.fspath(input), os.fspath(out)
    chosen = EmbedOptions(**options)
    parts = check_out(out, chosen, resume)
    keep_freed_memory()
    with _text_file(input) as path:
        complete = read_manifest(out) if parts else None
        if parts and not complete:
            parts.check_out()
        source = open_model(model)
        encoder = source.encoder()
        mix = layer_factors(source, encoder.config) if chosen.layers == "mix" else None
        stats = CorpusStats()
        lines = tokenized_file(path, tokenizer_of(encoder, chosen.tokenizer), stats)
        task = _Task(path, lines, encoder, mix, chosen, progress)
        if parts is None:
            task.to_stdout()
        else:
            manifest = {
                **dataclasses.asdict(chosen),
                "input": file_hash(path),
                "model": encoder_hash(encoder, [] if mix is None else [mix]),
            }
            if complete:
                check_manifest(complete, manifest, out)
                parts.remove()
                if progress:
                    print(f"{out} is complete; nothing to do", file=sys.stderr)
                return
            with parts.opened(manifest):
                task.to_file(parts, manifest)
    if progress:
        for message in stats.messages(encoder.config):
            print(message, file=sys.stderr)


def check_out(out: str, options: EmbedOptions, resume: bool) -> PartFolder | None:
    """Checks the file before its content is computed.

    Returns the folder of its parts; `None` for standard output.
    """
    if out == STANDARD:
        if resume:
            raise ValueError(
                f"{called('resume')} needs a file to go on with. "
                + received(resume=True, out=out)
            )
        return None
    if out.endswith(PARQUET_SUFFIX):
        import_extra("pyarrow", "Writing Parquet", "parquet")
    elif not out.endswith(HDF5_SUFFIXES):
        raise ValueError(
            f"{called('out')} must end in .hdf5, .h5 or .parquet, or be '-'. "
            + received(out=out)
        )
    elif options.rows != "tokens":
        raise ValueError(
            f"{called('rows')} must be 'tokens' for HDF5, which has one dataset per "
            f"line. {received(rows=options.rows, out=out)}"
        )
    check_parent(out)
    return PartFolder(out, resume)


@contextlib.contextmanager
def _text_file(input: str) -> Iterator[str]:
    """Yields the path of the text; standard input is copied to a temporary file."""
    with contextlib.ExitStack() as stack:
        if input == STANDARD:
            path, name = stack.enter_context(kept(sys.stdin.buffer)), "standard input"
            check_files({path: name})
        else:
            path, *more = expand_files(input)
            name = path
            if more:
                raise ValueError(
                    f"{called('input')} must be one file. Received: {1 + len(more)} of "
                    f"{input}"
                )
        if next(read_lines([path], keep_blank=True), None) is None:
            raise ValueError(f"there is no text in {name}")
        yield path


class _Task:
    """The text at a path, its lines, and what computes their vectors."""

    def __init__(
        self,
        path: str,
        lines: Iterable[Line],
        encoder: AnyEncoder,
        mix: np.ndarray | None,
        options: EmbedOptions,
        progress: bool,
    ) -> None:
        self._windows = windows(lines, BATCH_SIZE, lambda line: len(line[1]))
        self._num_bytes = os.path.getsize(path)
        self._encoder, self._mix = encoder, mix
        self._options, self._progress = options, progress
        self._shape = options.shape(encoder.config)

    def to_stdout(self) -> None:
        writer = JsonLinesWriter(sys.stdout, self._shape, self._options)
        # The writer rounds them.
        exact = dataclasses.replace(self._options, dtype="float32")

        def write(part: Part) -> Part:
            writer.append(part.lines, exact.numbers(part.vectors or []))
            return part

        self._run(map(write, compute_parts(self._windows, self._encoder, self._mix)))

    def to_file(self, parts: PartFolder, manifest: Manifest) -> None:
        options, first = self._options, next(self._windows)
        size = expected_bytes(first, self._num_bytes, self._shape, options)
        parts.check_room(size, self._progress)
        kind = ParquetWriter if parts.out.endswith(PARQUET_SUFFIX) else Hdf5Writer
        with parts.writing():
            writer = kind(parts.joined, self._shape, options, manifest)

        def write(part: Part) -> Part:
            with parts.writing():
                if part.vectors is None:
                    rows = list(map(options.num_rows, part.lines))
                    numbers = parts.read(part.path, rows)
                else:
                    numbers = options.numbers(part.vectors)
                    parts.write(part.path, numbers)
                writer.append(part.lines, numbers)
            return part

        with contextlib.closing(writer):
            text = chain([first], self._windows)
            computed = compute_parts(text, self._encoder, self._mix, parts)
            # A thread writes each part while the next one is computed.
            self._run(prefetch_map(write, computed, num_threads=1))
            with parts.writing():
                writer.finish()
                parts.complete()

    def _run(self, written: Iterable[Part]) -> None:
        """Shows how much of the text is done, part by part."""
        with Progress("Embedding", self._num_bytes, visible=self._progress) as bar:
            for part in written:
                is_new = part.vectors is not None
                bar.update(is_new * sum(map(len, part.lines)), part.position)
            bar.update(0, self._num_bytes)


def expected_bytes(
    window: list[Line], num_bytes: int, shape: tuple[int, ...], options: EmbedOptions
) -> int:
    """Estimates the size of the vectors of a text of `num_bytes` by its first lines."""
    position, _ = window[-1]
    lines = window[:-1] if position else window
    rows = sum(options.num_rows(tokens) for _, tokens in lines)
    one = math.prod(shape) * np.dtype(options.dtype).itemsize
    return round(rows * one * num_bytes / (position or num_bytes))
