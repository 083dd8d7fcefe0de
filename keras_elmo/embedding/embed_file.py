"""Vectors of a text file, written as a file."""

import contextlib
import dataclasses
import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator

import numpy as np

from keras_elmo.embedding.compute_parts import Part, compute_parts, expected_bytes
from keras_elmo.embedding.embedder import layer_factors
from keras_elmo.embedding.options import EmbedOptions
from keras_elmo.embedding.parts import (
    PartFolder,
    check_manifest,
    encoder_hash,
    to_numbers,
)
from keras_elmo.embedding.sentences import tokenizer_of
from keras_elmo.embedding.writers import (
    HDF5_SUFFIXES,
    PARQUET_SUFFIX,
    JsonLinesWriter,
    VectorWriter,
    open_writer,
    read_manifest,
)
from keras_elmo.files.loading import open_model
from keras_elmo.files.sources import AnyEncoder, Source
from keras_elmo.text.batching import TokenizedFile
from keras_elmo.text.lines import check_files, expand_files, read_lines
from keras_elmo.utils.checks import called, received
from keras_elmo.utils.files import check_parent, file_hash
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.memory import keep_freed_memory
from keras_elmo.utils.prefetch import prefetch_map
from keras_elmo.utils.progress import Progress
from keras_elmo.utils.temporary import kept
from keras_elmo.utils.types import StrPath

# What stands for the standard streams.
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
    words, as a JSON list. Parquet has a row a token, or a row a line; see
    `ParquetWriter`. A blank line has no tokens, in both.

    The vectors of 16,384 positions at a time are written as a part into the folder
    `OUT.parts`, and joined to one file, which is renamed to `out` when it is complete.
    The batches of a part that takes longer are written every ten seconds: a process
    that is killed at any moment loses no more. With `resume`, what is missing is
    computed; the bytes of the file are the same. Parts and file need twice the room of
    the file on the disk.

    Args:
        model: a name or path or another model as of `load`.
        input: the text, UTF-8; plain, .gz or .xz; `"-"` for standard input.
        out: a name that ends in .hdf5, .h5 or .parquet; `"-"` for standard output, to
            which each line is written as a JSON object; see `JsonLinesWriter`.
        layers: `"all"`, or `"mix"`, their weighted sum: with the weights of the
            exported model, or the average. HDF5 then holds
            `(tokens, 2 * projection_units)`.
        resume: whether to go on with the parts of an interrupted call, if there are
            any. If `out` is complete, nothing is done.
        progress: whether to show a bar and messages on stderr.
        rows: `"tokens"`, or `"sentences"`, the mean over the tokens of each line;
            Parquet only.
        dtype: of the numbers in the file, `"float32"` or `"float16"`.
        tokenizer: how the text is split, a kind of `Tokenizer`: `"whitespace"` for
            text that is tokenized already; that of the model if `None`.

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
    with _text_file(input) as text:
        if parts is None:
            _to_stdout(model, text, options, progress)
        else:
            _to_file(model, text, out, options, parts, progress)


@contextlib.contextmanager
def _text_file(input: str) -> Iterator[str]:
    """Yields the path of the text: what standard input has is a file meanwhile.

    Raises:
        ValueError: there is no text, or more than one file.
    """
    with contextlib.ExitStack() as stack:
        if input == STANDARD:
            path = stack.enter_context(kept(sys.stdin.buffer))
            check_files({path: "standard input"})
        else:
            path, *more = expand_files(input)
            if more:
                raise ValueError(
                    f"{called('input')} must be one file. Received: {1 + len(more)} of "
                    f"{input}"
                )
        if next(read_lines([path], keep_blank=True), None) is None:
            name = "standard input" if input == STANDARD else path
            raise ValueError(f"there is no text in {name}")
        yield path


def _to_stdout(model: Source, path: str, options: EmbedOptions, progress: bool) -> None:
    encoder, mix = _encoder_and_mix(model, options)
    text = TokenizedFile(path, tokenizer_of(encoder, options.tokenizer))
    writer = JsonLinesWriter(sys.stdout, options)
    with _progress(path, progress) as update:
        for part in compute_parts(text, encoder, mix):
            writer.append(part.lines, part.vectors or [])
            update(part)
    _report(text, encoder, progress)


def _to_file(
    model: Source,
    path: str,
    out: str,
    options: EmbedOptions,
    parts: PartFolder,
    progress: bool,
) -> None:
    complete = read_manifest(out) if os.path.exists(out) else None
    if not complete:
        parts.check_out()
    encoder, mix = _encoder_and_mix(model, options)
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
    text = TokenizedFile(path, tokenizer_of(encoder, options.tokenizer))
    shape = options.shape(encoder.config)
    try:
        with parts.opened(manifest):
            size = expected_bytes(text, encoder, options)
            _check_room(out, size, parts.num_bytes(), progress)
            with parts.writing():
                writer = open_writer(parts.joined, shape, options, manifest)
            with contextlib.closing(writer):
                computed = compute_parts(text, encoder, mix, parts)
                with _progress(path, progress) as update:
                    for part in _written(computed, options, parts, writer):
                        update(part)
                with parts.writing():
                    writer.finish()
                    parts.complete()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped; {parts.kept()}") from None
    _report(text, encoder, progress)


def _encoder_and_mix(
    model: Source, options: EmbedOptions
) -> tuple[AnyEncoder, np.ndarray | None]:
    source = open_model(model)
    encoder = source.encoder()
    mix = layer_factors(source, encoder.config) if options.layers == "mix" else None
    return encoder, mix


def _report(text: TokenizedFile, encoder: AnyEncoder, progress: bool) -> None:
    if progress:
        for message in text.stats.messages(encoder.config):
            print(message, file=sys.stderr)


def check_out(out: str, options: EmbedOptions, resume: bool) -> PartFolder | None:
    """Checks the file before its content is computed.

    Returns:
        Its parts; `None` for standard output.
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


def _check_room(out: str, size: int, written: int, progress: bool) -> None:
    """Says how much room the file takes.

    Raises:
        OSError: the disk has less, beside the parts that are written already.
    """
    free = shutil.disk_usage(os.path.dirname(out) or ".").free
    room = f"takes about {_in_units(size)}, twice as much while it is written"
    if 2 * size - written > free:
        why = f"{room}, and {_in_units(free)} are free on the disk"
        raise OSError(errno.ENOSPC, why, out)
    if progress:
        print(f"{out} {room}", file=sys.stderr)


def _in_units(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"


def _written(
    computed: Iterator[Part],
    options: EmbedOptions,
    parts: PartFolder,
    writer: VectorWriter,
) -> Iterator[Part]:
    """Writes and joins parts in a thread, while the next one is computed."""

    def write(part: Part) -> Part:
        with parts.writing():
            if part.vectors is None:
                numbers = parts.read(part.path)
            else:
                numbers = to_numbers(part.vectors, options)
                parts.write(part.path, numbers)
            writer.append(part.lines, numbers)
        return part

    return prefetch_map(write, computed, num_threads=1)


@contextlib.contextmanager
def _progress(path: str, shown: bool) -> Iterator[Callable[[Part], None]]:
    """Yields what shows that a part of the text is done."""
    size = os.path.getsize(path)
    with Progress("Embedding", size, visible=shown) as bar:

        def update(part: Part) -> None:
            is_new = part.vectors is not None
            bar.update(is_new * sum(map(len, part.lines)), part.position)

        yield update
        bar.update(0, size)
