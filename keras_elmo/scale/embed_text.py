"""Computes vectors of texts on many machines."""

import contextlib
import dataclasses
import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.utils.shared import Shared

from keras_elmo.config import TOKENIZER_IF_UNKNOWN
from keras_elmo.embedding.embed_options import EmbedOptions
from keras_elmo.embedding.embedder import BATCH_SIZE, Embedder, layer_factors
from keras_elmo.embedding.writers import PARQUET_SUFFIX, ParquetWriter
from keras_elmo.files.exported_sources import ExportedModel
from keras_elmo.files.loading import open_model
from keras_elmo.models.encoder import Encoder
from keras_elmo.scale.shared_files import (
    TextChunk,
    absolute,
    begin,
    match_files,
    read_chunks,
    remove_unfinished,
    write_whole,
)
from keras_elmo.text.batching import tokenized_lines
from keras_elmo.text.lines import Files
from keras_elmo.utils.checks import check_path, check_type
from keras_elmo.utils.files import file_hash
from keras_elmo.utils.types import StrPath

# Readers of Parquet pass over names that begin with an underscore.
_MANIFEST = "_recipe.json"


def embed_text(
    model: StrPath,
    files: Files,
    out: StrPath,
    layers: str = EmbedOptions.layers,
    rows: str = EmbedOptions.rows,
    dtype: str = EmbedOptions.dtype,
    options: PipelineOptions | None = None,
    *,
    tokenizer: str | None = EmbedOptions.tokenizer,
) -> None:
    """Writes the vectors of every line of some texts as a folder of Parquet files.

    Each file holds the lines of one chunk. Read as one table, the folder has the
    columns of `embed_file`'s Parquet and the column `file`, the text's name, with rows
    in any order. Start a job that failed again: it skips the parts that exist.

    Args:
        model: path or name of an exported SavedModel, which every worker finds.
        files: paths or glob patterns; with Beam's packages for them, also in object
            stores (`gs://`, `s3://`). No two may have the same name.
        out: the folder.
        layers: `"all"`, or `"mix"`, the exported model's mix of them.
        rows: `"tokens"`, or `"sentences"`, the mean over the tokens of each line.
        dtype: of the numbers in the files, `"float32"` or `"float16"`.
        options: of the engine; Beam's `DirectRunner` if `None`.
        tokenizer: how the texts are split, a kind of `Tokenizer`; the model's if
            `None`.

    Raises:
        ValueError: no file matches, an argument has a value it may not have, or `out`
            holds the vectors of another text or model.
        RuntimeError: the engine has failed.

    Example:

    ```python
    from pathlib import Path
    import pyarrow.parquet as parquet
    from keras_elmo.scale import embed_text

    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    keras_elmo.export_saved_model(encoder, "model", "whitespace")
    Path("text.txt").write_text("I sat on the bank\\n\\nThe bank closed\\n")
    embed_text("model", "text.txt", "vectors", layers="mix", rows="sentences")
    table = parquet.read_table("vectors")
    assert table.column_names == ["line", "num_tokens", "mix", "file"]
    assert table["num_tokens"].to_pylist() == [5, 0, 3]
    ```
    """
    chosen = EmbedOptions(layers, rows, dtype, tokenizer)
    check_path(out=out)
    texts = match_files(files)
    names = Counter(map(os.path.basename, texts))
    if doubled := [name for name, count in names.items() if count > 1]:
        raise ValueError(
            f"`files` must not have two files of one name. Received: {doubled[0]}, "
            f"{names[doubled[0]]} times"
        )
    model = os.path.abspath(open_model(model, kinds=(ExportedModel,)).path)
    out = absolute(out)
    embedding = EmbedText(model, out, chosen)
    sizes = {os.path.basename(path): size for path, size in texts.items()}
    manifest = {**dataclasses.asdict(chosen), "model": _folder_hash(model)}
    begin(f"{out}/{_MANIFEST}", {**manifest, "files": sizes}, out)
    with beam.Pipeline(options=options) as pipeline:
        _ = pipeline | beam.Create(list(texts)) | embedding
    remove_unfinished(out)


class EmbedText(beam.PTransform):
    """Transforms paths of text files to the paths of the parts with their vectors.

    Args:
        model: an exported SavedModel, on every worker.
        out: the folder to write to.
        options: decide on the content of the parts.

    Example:

    ```python
    from pathlib import Path
    import apache_beam as beam
    from keras_elmo.embedding.embed_options import EmbedOptions
    from keras_elmo.scale import EmbedText

    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    keras_elmo.export_saved_model(encoder, "model", "whitespace")
    Path("text.txt").write_text("I sat on the bank\\n")
    with beam.Pipeline() as pipeline:
        paths = pipeline | beam.Create(["text.txt"])
        paths | EmbedText("model", "vectors", EmbedOptions(layers="mix"))
    assert Path("vectors", "file=text.txt", "000000000000.parquet").exists()
    ```
    """

    def __init__(self, model: str, out: str, options: EmbedOptions) -> None:
        super().__init__()
        check_path(out=out)
        check_type(EmbedOptions, "EmbedOptions", options=options)
        self._embed = _EmbedChunk(model, out, options)

    def expand(self, paths: Any) -> Any:
        return (
            paths
            | "Read" >> beam.FlatMap(read_chunks)
            | "Leave out what exists" >> beam.Filter(self._embed.is_missing)
            | "Distribute" >> beam.Reshuffle()
            | "Embed" >> beam.ParDo(self._embed)
        )


class _EmbedChunk(beam.DoFn):
    """Writes the part of a chunk; a process loads the encoder once."""

    def __init__(self, model: str, out: str, options: EmbedOptions) -> None:
        super().__init__()
        source = open_model(model, kinds=(ExportedModel,))
        about = source.describe()
        self._model = source.path
        self._out = out
        self._options = options
        mix = options.layers == "mix"
        self._mix = layer_factors(source, about["config"]) if mix else None
        own = about["tokenizer"]
        self._tokenizer = options.tokenizer or own or TOKENIZER_IF_UNKNOWN
        self._shared = Shared()

    def setup(self) -> None:
        self._encoder = self._shared.acquire(self._load)

    def _load(self) -> Encoder:
        encoder: Encoder = ExportedModel(self._model).encoder()
        # Compiled before threads share it.
        Embedder(encoder).embed_window([[b"word"]], batch_size=1)
        return encoder

    def is_missing(self, chunk: TextChunk) -> bool:
        return not FileSystems.exists(self._part(chunk))

    def _part(self, chunk: TextChunk) -> str:
        # Programs that read Parquet make a column `file` of this.
        folder = f"file={quote(os.path.basename(chunk.path), safe='')}"
        return f"{self._out}/{folder}/{chunk.first_line:012}{PARQUET_SUFFIX}"

    def process(self, chunk: TextChunk) -> Iterator[str]:
        lines = list(tokenized_lines(chunk.lines, self._tokenizer))
        # With an empty cache, the vectors are the same on any worker.
        vectors = list(Embedder(self._encoder).embed(lines, BATCH_SIZE, self._mix))
        options, shape = self._options, self._options.shape(self._encoder.config)

        def write(path: str) -> None:
            writer = ParquetWriter(path, shape, options, None, chunk.first_line)
            with contextlib.closing(writer):
                writer.append(lines, options.numbers(vectors))
                writer.finish()

        write_whole(self._part(chunk), write)
        yield self._part(chunk)


def _folder_hash(path: StrPath) -> str:
    """Returns the SHA-256 of a folder's files and their names."""
    digest = hashlib.sha256()
    for file in sorted(Path(path).rglob("*")):
        if file.is_file():
            digest.update(f"{file.relative_to(path)}\0{file_hash(file)}\n".encode())
    return digest.hexdigest()
