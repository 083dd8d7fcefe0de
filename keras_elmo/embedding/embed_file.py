"""Vectors of a text file, written as a file."""

import contextlib
import dataclasses
import errno
import math
import os
import shutil
import sys
from collections.abc import Iterator
from itertools import chain

import numpy as np

from keras_elmo.embedding.embed_options import EmbedOptions
from keras_elmo.embedding.embedder import layer_factors
from keras_elmo.embedding.parts import (
    Manifest,
    Part,
    PartFolder,
    check_manifest,
    compute_parts,
    encoder_hash,
    windows_of,
)
from keras_elmo.embedding.writers import (
    HDF5_SUFFIXES,
    PARQUET_SUFFIX,
    JsonLinesWriter,
    open_writer,
    read_manifest,
)
from keras_elmo.files.loading import open_model
from keras_elmo.files.sources import AnyEncoder, Source, tokenizer_of
from keras_elmo.text.batching import Tokens, tokenized_file
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
    layers: str = EmbedOptions.layers,
    resume: bool = False,
    progress: bool = False,
    *,
    rows: str = EmbedOptions.rows,
    dtype: str = EmbedOptions.dtype,
    tokenizer: str | None = EmbedOptions.tokenizer,
) -> None:
    """Writes the contextual vectors of every line of a text file.

    HDF5 has the published layout: dataset `k` holds line k, counted from 0, of shape
    `(num_layers + 1, tokens, 2 * projection_units)`, and its attribute `tokens` the
    words, as a JSON list. Parquet has one row per token, or per line; see
    `ParquetWriter`. A blank line has no tokens, in both.

    The vectors of 16,384 positions at a time are written as a part into the folder
    `OUT.parts`, and joined to one file, which is renamed to `out` when it is complete.
    A process that is killed loses the part that it was computing. With `resume`, what
    is missing is computed; the bytes of the file are the same. Parts and file together
    need twice the file's size on the disk.

    Args:
        model: a name or path or another model as of `load`.
        input: the text, UTF-8; plain, .gz or .xz; `"-"` for standard input.
        out: a name that ends in .hdf5, .h5 or .parquet; `"-"` for standard output, to
            which each line is written as a JSON object; see `JsonLinesWriter`.
        layers: `"all"`, or `"mix"`, their weighted sum: with the weights of the
            exported model, or the average. HDF5 then holds
            `(tokens, 2 * projection_units)`.
        resume: whether to continue with the parts of an interrupted call, if there are
            any. If `out` is complete, nothing is done.
        progress: whether to show a bar and messages on stderr.
        rows: `"tokens"`, or `"sentences"`, the mean over the tokens of each line;
            Parquet only.
        dtype: of the numbers in the file, `"float32"` or `"float16"`.
        tokenizer: how the text is split, a kind of `Tokenizer`: `"whitespace"` for
            text that is tokenized already; the model's if `None`.

    Raises:
        ValueError: `out` exists or ends in something else; an option has another value
            than it may have, or than the parts were begun with; the model or the text
            cannot be read, or has changed since.
        OSError: the file cannot be written; complete parts are kept.
        KeyboardInterrupt: after Ctrl-C; says what is kept.
    """
    input, out = os.fspath(input), os.fspath(out)
    options = EmbedOptions(layers, rows, dtype, tokenizer)
    parts = check_out(out, options, resume)
    keep_freed_memory()
    with _text_file(input) as path:
        complete = read_manifest(out) if parts else None
        if parts and not complete:
            parts.check_out()
        source = open_model(model)
        encoder = source.encoder()
        mix = layer_factors(source, encoder.config) if layers == "mix" else None
        stats = CorpusStats()
        text = tokenized_file(path, tokenizer_of(encoder, tokenizer), stats)
        lines = windows_of(text)
        if parts is None:
            _to_stdout(path, lines, encoder, mix, options, progress)
        else:
            manifest = {
                **dataclasses.asdict(options),
                "input": file_hash(path),
                "model": encoder_hash(encoder, *([] if mix is None else [mix])),
            }
            if complete:
                check_manifest(complete, manifest, out)
                parts.remove()
                if progress:
                    print(f"{out} is complete; nothing to do", file=sys.stderr)
                return
            try:
                with parts.opened(manifest):
                    _to_file(
                        path, lines, encoder, mix, options, progress, parts, manifest
                    )
            except KeyboardInterrupt:
                raise KeyboardInterrupt(f"stopped; {parts.kept()}") from None
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


def _to_stdout(
    path: str,
    lines: Iterator[tuple[list[Tokens], int]],
    encoder: AnyEncoder,
    mix: np.ndarray | None,
    options: EmbedOptions,
    progress: bool,
) -> None:
    writer = JsonLinesWriter(sys.stdout, options.shape(encoder.config), options)
    # The writer rounds them.
    exact = dataclasses.replace(options, dtype="float32")

    def write(part: Part) -> Part:
        writer.append(part.lines, exact.numbers(part.vectors or []))
        return part

    _run(map(write, compute_parts(lines, encoder, mix)), path, progress)


def _to_file(
    path: str,
    lines: Iterator[tuple[list[Tokens], int]],
    encoder: AnyEncoder,
    mix: np.ndarray | None,
    options: EmbedOptions,
    progress: bool,
    parts: PartFolder,
    manifest: Manifest,
) -> None:
    shape = options.shape(encoder.config)
    first, position = next(lines)
    size = expected_bytes(first, position / os.path.getsize(path), shape, options)
    _check_room(parts.out, size, parts.num_bytes(), progress)
    with parts.writing():
        writer = open_writer(parts.joined, shape, options, manifest)

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
        computed = compute_parts(chain([(first, position)], lines), encoder, mix, parts)
        # Each is written in a thread while the next one is computed.
        _run(prefetch_map(write, computed, num_threads=1), path, progress)
        with parts.writing():
            writer.finish()
            parts.complete()


def expected_bytes(
    lines: list[Tokens], read: float, shape: tuple[int, ...], options: EmbedOptions
) -> int:
    """Returns about how many bytes of vectors a text has, judged by its first lines.

    `read` is the share of the text before the last of them; 0 if they are all of it.
    """
    if read:
        lines = lines[:-1]
    rows = sum(map(options.num_rows, lines))
    one = math.prod(shape) * np.dtype(options.dtype).itemsize
    return round(rows * one / (read or 1))


def _check_room(out: str, size: int, written: int, progress: bool) -> None:
    """Says how much room the file takes; `OSError` if the disk has less."""
    free = shutil.disk_usage(os.path.dirname(out) or ".").free
    room = f"takes about {_in_units(size)}, twice as much while it is written"
    if 2 * size - written > free:
        why = f"{room}, and {_in_units(free)} are free on the disk"
        raise OSError(errno.ENOSPC, why, out)
    if progress:
        print(f"{out} {room}", file=sys.stderr)


def _in_units(size: int) -> str:
    if size < 1e5:
        return f"{size / 1e3:,.1f} kB"
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"


def _run(done: Iterator[Part], path: str, progress: bool) -> None:
    """Shows how much of the text is done, part by part."""
    size = os.path.getsize(path)
    with Progress("Embedding", size, visible=progress) as bar:
        for part in done:
            is_new = part.vectors is not None
            bar.update(is_new * sum(map(len, part.lines)), part.position)
        bar.update(0, size)
