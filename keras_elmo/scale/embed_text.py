"""The vectors of a text that many machines embed."""

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.ml.inference.base import RunInference
from apache_beam.options.pipeline_options import PipelineOptions

from keras_elmo.embedding.embed_file import EmbedOptions
from keras_elmo.embedding.resumable import folder_digest
from keras_elmo.scale.saved_model_handler import SavedModelHandler
from keras_elmo.scale.shared_files import (
    absolute,
    match_files,
    open_file,
    remove_unfinished,
    write_whole,
)
from keras_elmo.scale.text_chunks import read_chunks
from keras_elmo.scale.vector_parts import VectorParts
from keras_elmo.text.lines import Files
from keras_elmo.utils.files import parse_json_object

# Readers of Parquet pass over names that begin with an underscore.
_RECIPE = "_recipe.json"


def embed_text(
    model: str | os.PathLike[str],
    files: Files,
    out: str | os.PathLike[str],
    layers: str = "all",
    rows: str = "tokens",
    dtype: str = "float32",
    options: PipelineOptions | None = None,
) -> None:
    """Writes the vectors of every line of some texts as a folder of Parquet files.

    Each file holds some lines of one text and appears when it is whole, under a name
    that tells which: whatever an engine does twice is there once. Read as one table,
    the folder has the column `file`, the text's name, and those of `embed_file`'s
    Parquet, whose values it has, in any order.

    A job that failed goes on when it is started again: what is there is not done
    again.

    Args:
        model: an exported SavedModel, which every worker finds under this path.
        files: a path or a glob pattern, or several; with Beam's packages for them,
            also of object stores (`gs://`, `s3://`). No two of one name.
        out: the folder.
        layers: `"all"`, or `"mix"`, the exported model's mix of them.
        rows: `"tokens"`, or `"sentences"`, the mean over the tokens of each line.
        dtype: of the numbers in the files, `"float32"` or `"float16"`.
        options: of the engine; those of Beam's `DirectRunner` if `None`.

    Raises:
        ValueError: no file matches, an argument is not what it may be, or `out`
            holds the vectors of another text or model.
        RuntimeError: the engine has failed.
    """
    chosen = EmbedOptions(layers, rows, dtype)
    texts = match_files(files)
    names = Counter(map(os.path.basename, texts))
    if doubled := [name for name, count in names.items() if count > 1]:
        raise ValueError(
            f"`files` must not have two files of one name. Received: {doubled[0]}, "
            f"{names[doubled[0]]} times"
        )
    model, out = os.path.abspath(model), absolute(out)
    embedding = EmbedText(model, out, chosen)
    sizes = {os.path.basename(path): size for path, size in texts.items()}
    recipe = {**dataclasses.asdict(chosen), "model": folder_digest(model)}
    _begin(out, {**recipe, "files": sizes})
    with beam.Pipeline(options=options) as pipeline:
        _ = pipeline | beam.Create(list(texts)) | embedding
    remove_unfinished(out)


class EmbedText(beam.PTransform):
    """Paths of text files to the paths of the parts that hold their vectors.

    Args:
        model: an exported SavedModel, on every worker.
        out: the folder to write to.
        options: which vectors, and how they are written.
    """

    def __init__(self, model: str, out: str, options: EmbedOptions) -> None:
        super().__init__()
        self._handler = SavedModelHandler(model, options.layers)
        self._parts = VectorParts(out, options.rows, options.dtype)

    def expand(self, paths: Any) -> Any:
        return (
            paths
            | "Read" >> beam.FlatMap(read_chunks)
            | "Leave out what is there" >> beam.Filter(self._parts.lacks)
            | "Distribute" >> beam.Reshuffle()
            | "Embed" >> RunInference(self._handler)
            | "Write" >> beam.Map(self._parts.write)
        )


def _begin(out: str, recipe: Mapping[str, Any]) -> None:
    """Takes note of what the vectors are made from, or compares it.

    Raises:
        ValueError: it is another.
    """
    path = f"{out}/{_RECIPE}"
    if not FileSystems.exists(path):
        content = json.dumps(recipe, indent=2, ensure_ascii=False)
        write_whole(path, lambda local: Path(local).write_text(content, "utf-8"))
        return
    with open_file(path) as file:
        before = parse_json_object(file.read(), path)
    for name, value in recipe.items():
        if before.get(name) != value:
            raise ValueError(
                f"`{name}` must be what it was when {out} was begun; see {path}. "
                f"Received: {value!r}"
            )
