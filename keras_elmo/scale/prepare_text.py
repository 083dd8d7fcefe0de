"""Splits text into words on many machines, for pretraining."""

import dataclasses
import os
import shutil
from collections.abc import Iterator
from functools import partial

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from keras_elmo.config import TOKENIZERS
from keras_elmo.scale.shared_files import (
    absolute,
    begin,
    is_local,
    match_files,
    open_file,
)
from keras_elmo.text.line_sources import SourceLine, json_path
from keras_elmo.text.lines import Files, check_files, positioned_lines
from keras_elmo.text.part_dictionaries import join_parts
from keras_elmo.text.preparing import split_parts
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.checks import check_choice, check_path, refuse
from keras_elmo.utils.files import check_free, read_json_object, write_json
from keras_elmo.utils.types import StrPath


def prepare_text(
    files: Files,
    out: StrPath,
    tokenizer: str = "unicode",
    options: PipelineOptions | None = None,
) -> None:
    """Writes the folder of `keras_elmo.prepare`; each worker reads files of the text.

    Batches and vocabularies are the same; only the shards end with the files. Start a
    job that failed again: it skips files that are split already, in the folder
    `OUT.parts`. At the end, the process that started the job numbers the words.

    Args:
        files: paths or glob patterns, read in sorted order; with Beam's packages for
            them, also in object stores (`gs://`, `s3://`).
        out: the folder to write, which every worker reaches by this path.
        tokenizer: the kind of `Tokenizer`.
        options: Beam's pipeline options; `None` for its `DirectRunner`.

    Raises:
        ValueError: no file matches, there is no word, `out` exists, or its parts come
            from another text or tokenizer.
        RuntimeError: the engine failed.

    Example:

    ```python
    from pathlib import Path
    from keras_elmo.scale import prepare_text

    Path("text.txt").write_text("the bank of the river\\nthe bank\\n")
    prepare_text("text.txt", "prepared")
    assert len(keras_elmo.Vocabulary.count("prepared")) == 3 + 4
    ```
    """
    check_path(out=out)
    check_choice(TOKENIZERS, tokenizer=tokenizer)
    texts = match_files(files)
    out = absolute(out)
    if not is_local(out):
        refuse("out", "a folder on a disk that all workers share", out)
    check_free(out)
    parts = f"{out}.parts"
    os.makedirs(parts, exist_ok=True)
    text = [[json_path(os.path.basename(path)), size] for path, size in texts.items()]
    manifest = {"tokenizer": tokenizer, "files": text}
    begin(os.path.join(parts, "begun.json"), manifest, parts)
    split = partial(_split, parts, tokenizer)
    with beam.Pipeline(options=options) as pipeline:
        paths = pipeline | beam.Create(list(enumerate(texts)))
        _ = (
            paths
            | "Distribute" >> beam.Reshuffle()
            | "Split" >> beam.FlatMapTuple(split)
        )
    stats = CorpusStats()
    folders: list[str] = []
    for number in range(len(text)):
        done = read_json_object(_done(parts, number))
        stats.add(done["stats"])
        folders += (_part(parts, number, k) for k in range(done["parts"]))
    if not folders:
        shutil.rmtree(parts)
        raise ValueError(f"there is no word in {', '.join(texts)}")
    join_parts(folders, out, text, tokenizer, stats)
    shutil.rmtree(parts)


def _split(parts: str, tokenizer: str, number: int, path: str) -> Iterator[str]:
    """Writes the parts of a file; its number is the place among all files."""
    done = _done(parts, number)
    if os.path.exists(done):
        return
    if not is_local(path):
        check_files({path: path}, open_file)
    stats, count = CorpusStats(), 0
    lines = (
        SourceLine(number, position, line)
        for position, line in positioned_lines(path, stats, open_file=open_file)
    )
    for part in split_parts(lines, False, tokenizer):
        if part.num_words:
            folder = _part(parts, number, count)
            # From a worker that died, or one that is slow.
            shutil.rmtree(folder, ignore_errors=True)
            part.write(folder)
            count += 1
    write_json(done, {"parts": count, "stats": dataclasses.asdict(stats)})
    yield done


def _done(parts: str, number: int) -> str:
    return os.path.join(parts, f"file-{number:05}.json")


def _part(parts: str, number: int, count: int) -> str:
    return os.path.join(parts, f"file-{number:05}-part-{count:05}")
