"""The vectors of a text file, as a file."""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np

from keras_elmo.embedding.hdf5_vectors import Hdf5Vectors
from keras_elmo.embedding.options import EmbedOptions
from keras_elmo.embedding.parquet_vectors import ParquetVectors
from keras_elmo.embedding.resumable import UnfinishedFile, encoder_digest, file_digest
from keras_elmo.embedding.sections import (
    SectionEmbedder,
    SectionWriter,
    Tokens,
    VectorWriter,
)
from keras_elmo.files.loading import find_model, load
from keras_elmo.files.saved_model import is_saved_model, read_mix
from keras_elmo.models.encoder import Encoder
from keras_elmo.text.batching import TokenizedFile
from keras_elmo.text.lines import expand_files, read_lines
from keras_elmo.text.tokenizer import TOKENIZER_IF_UNKNOWN
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.progress import Progress


def mix_weights(model: str | os.PathLike[str]) -> np.ndarray:
    """Returns what an exported model multiplies each layer with.

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


Path = str | os.PathLike[str]

# Between two checkpoints: some ten seconds of a `mini` model on two cores.
_SECTION_POSITIONS = 262_144
# That are written while the next ones are computed.
_LINES_AT_A_TIME = 256

_HDF5 = (".hdf5", ".h5")
_PARQUET = ".parquet"


def embed_file(
    model: Path,
    input: Path,
    out: Path,
    layers: str = EmbedOptions.layers,
    resume: bool = False,
    progress: bool = False,
    *,
    rows: str = EmbedOptions.rows,
    dtype: str = EmbedOptions.dtype,
) -> None:
    """Writes the contextual vectors of every line of a text file.

    HDF5 has the published layout: dataset `k` holds line k, counted from 0,
    `(num_layers + 1, tokens, 2 * projection_units)`. Parquet has a row a token, or a
    row a line, see `ParquetVectors`. A blank line has no tokens, in both.

    The file appears under its name when it is complete. Until then it is
    `OUT.unfinished`, which a process that is killed at any moment leaves in a state to
    go on from: the text is cut into sections, each embedded by itself and brought to
    the disk, and the finished file has the bytes it would have had.

    Args:
        model: a pretraining directory, an exported SavedModel, or a shipped name.
        input: the text, UTF-8; plain, .gz or .xz.
        out: a name that ends in .hdf5, .h5 or .parquet.
        layers: `"all"`, or `"mix"`, their mix alone: that of the exported model, or
            the average. HDF5 then holds `(tokens, 2 * projection_units)`.
        resume: whether to go on with the `OUT.unfinished` of an interrupted call; if
            there is none, it is begun.
        progress: whether to show a bar and messages on stderr.
        rows: `"tokens"`, or `"sentences"`, the mean over the tokens of each line;
            Parquet only.
        dtype: of the numbers in the file, `"float32"` or `"float16"`.

    Raises:
        ValueError: `out` exists or ends in something else; an argument is another
            than it may be, or than it was when `OUT.unfinished` was begun; the model
            or the text cannot be read, or has changed since.
        OSError: the file cannot be written; what was written is kept.
        KeyboardInterrupt: after Ctrl-C, with what is kept.
    """
    input, out = os.fspath(input), os.fspath(out)
    options = EmbedOptions(layers, rows, dtype)
    _check_out(out, options)
    files = expand_files(input)
    if len(files) > 1:
        raise ValueError(f"`input` must be one file. Received: {len(files)} of {input}")
    unfinished = UnfinishedFile(out, resume)
    if next(read_lines(files, keep_blank=True), None) is None:
        raise ValueError(f"there is no text in {files[0]}")
    model = find_model(model)
    encoder = load(model)
    mix = _mix(model, encoder.config.num_layers + 1) if layers == "mix" else None
    digests = {
        "input": file_digest(files[0]),
        "model": encoder_digest(encoder, *([] if mix is None else [mix])),
    }
    try:
        with unfinished.begun(dataclasses.asdict(options), digests):
            text = TokenizedFile(files[0], encoder.tokenizer or TOKENIZER_IF_UNKNOWN)
            shape = options.shape(encoder.config)
            writer = _open(unfinished, shape, options, _num_tokens(text, progress))
            with SectionWriter(unfinished, writer) as sections:
                _write(encoder, mix, text, sections, progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(unfinished.where_it_stands()) from None
    if progress:
        for message in text.report.messages():
            print(message, file=sys.stderr)


def _check_out(out: str, options: EmbedOptions) -> None:
    if out.endswith(_PARQUET):
        import_extra("pyarrow", "Writing Parquet", "parquet")
    elif not out.endswith(_HDF5):
        raise ValueError(
            f"`out` must end in .hdf5, .h5 or .parquet. Received: out={out!r}"
        )
    elif options.rows != "tokens":
        raise ValueError(
            "`rows` must be 'tokens' for HDF5, whose layout is a dataset a line. "
            f"Received: rows={options.rows!r}, out={out!r}"
        )


def _open(
    unfinished: UnfinishedFile,
    shape: tuple[int, ...],
    options: EmbedOptions,
    num_tokens: Iterable[int],
) -> VectorWriter:
    with unfinished.writing():
        if unfinished.path.endswith(f"{_PARQUET}.unfinished"):
            return ParquetVectors(unfinished.path, shape, options.dtype, options.rows)
        return Hdf5Vectors(unfinished.path, shape, options.dtype, num_tokens)


def _num_tokens(text: TokenizedFile, progress: bool) -> Iterator[int]:
    """The tokens of each line, for a format that needs to know them beforehand."""
    with _shown("Counting", text, progress) as advance:
        for tokens in text:
            advance(len(tokens))
            yield len(tokens)


def _write(
    encoder: Encoder,
    mix: np.ndarray | None,
    text: TokenizedFile,
    sections: SectionWriter,
    progress: bool,
) -> None:
    parts = _sections(iter(text))
    embedder = SectionEmbedder(encoder, sections.num_written, mix)
    for section in sections.skip_written(parts):
        embedder.skip(section)
    with _shown("Embedding", text, progress) as advance:
        for section in parts:
            embedded = zip(section, embedder.embed(section), strict=True)
            while chunk := list(islice(embedded, _LINES_AT_A_TIME)):
                sections.write(chunk)
                advance(sum(len(tokens) for tokens, _ in chunk))
            sections.end_section(len(section), sum(map(len, section)))
        sections.finish()


@contextlib.contextmanager
def _shown(
    label: str, text: TokenizedFile, progress: bool
) -> Iterator[Callable[[int], None]]:
    """Yields what is told how many words more are done, and shows how far that is."""
    if not progress:
        yield lambda count: None
        return
    with Progress(label, os.path.getsize(text.path), start=text.position) as bar:
        yield lambda count: bar.update(count, text.position)


def _mix(model: Path, num_layers: int) -> np.ndarray:
    if is_saved_model(model):
        return mix_weights(model)
    return np.full(num_layers, 1 / num_layers, dtype="float32")


def _sections(sentences: Iterator[Tokens]) -> Iterator[list[Tokens]]:
    """Cuts a text where it has so many positions, wherever it was interrupted."""
    section: list[Tokens] = []
    positions = 0
    for sentence in sentences:
        section.append(sentence)
        positions += len(sentence) + 2
        if positions >= _SECTION_POSITIONS:
            yield section
            section, positions = [], 0
    if section:
        yield section
