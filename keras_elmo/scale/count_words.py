"""Counts the words of a text on many machines."""

import heapq
import os
from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from keras_elmo.config import TOKENIZERS
from keras_elmo.scale.shared_files import (
    TextChunk,
    absolute,
    match_files,
    read_chunks,
    write_whole,
)
from keras_elmo.text.batching import tokenized_lines
from keras_elmo.text.lines import Files
from keras_elmo.text.vocabulary import SPECIALS, Vocabulary, check_sizes
from keras_elmo.utils.checks import check_choice, check_path


def count_words(
    files: Files,
    out: str | os.PathLike[str],
    tokenizer: str = "unicode",
    max_size: int | None = None,
    min_count: int = 1,
    options: PipelineOptions | None = None,
) -> None:
    """Writes the vocabulary that `Vocabulary.count` returns for the same text.

    Args:
        files: paths or glob patterns; with Beam's packages for them, also in object
            stores (`gs://`, `s3://`).
        out: the file to write or to replace.
        tokenizer: the kind of `Tokenizer`.
        max_size: greatest number of words, with the three specials.
        min_count: how often a word has to occur.
        options: Beam's pipeline options; `None` for its `DirectRunner`.

    Raises:
        ValueError: no file matches, or an argument is out of range.
        RuntimeError: the engine failed, or there is no word.

    Example:

    ```python
    from pathlib import Path
    from keras_elmo.scale import count_words

    Path("text.txt").write_text("the bank of the river\\n")
    count_words("text.txt", "vocabulary.txt")
    assert Path("vocabulary.txt").read_text().split()[3] == "the"
    ```
    """
    check_sizes(max_size, min_count)
    check_path(out=out)
    texts = match_files(files)
    if not any(texts.values()):
        raise ValueError(f"there is no text in {', '.join(texts)}")
    save = partial(_save, absolute(out), max_size, min_count)
    with beam.Pipeline(options=options) as pipeline:
        counts = pipeline | beam.Create(list(texts)) | CountWords(tokenizer)
        # To one worker, who holds no more of them than a vocabulary has.
        together = counts | beam.WithKeys(None) | beam.GroupByKey()
        _ = together | "Save" >> beam.MapTuple(save)


class CountWords(beam.PTransform):
    """Transforms paths of text files to pairs of a word and its count.

    The empty word, which no text has, is among them, so that there always is a pair.

    Args:
        tokenizer: the kind of `Tokenizer`.

    Example:

    ```python
    from pathlib import Path
    import apache_beam as beam
    from apache_beam.testing.util import assert_that, equal_to
    from keras_elmo.scale import CountWords

    Path("text.txt").write_text("the bank of the river\\n")
    with beam.Pipeline() as pipeline:
        counts = pipeline | beam.Create(["text.txt"]) | CountWords("unicode")
        wanted = [(b"", 0), (b"the", 2), (b"bank", 1), (b"of", 1), (b"river", 1)]
        assert_that(counts, equal_to(wanted))
    ```
    """

    def __init__(self, tokenizer: str) -> None:
        super().__init__()
        check_choice(TOKENIZERS, tokenizer=tokenizer)
        self._tokenizer = tokenizer

    def expand(self, paths: Any) -> Any:
        return (
            paths
            | "Read" >> beam.FlatMap(read_chunks)
            | "Distribute" >> beam.Reshuffle()
            | "Count" >> beam.FlatMap(_count, self._tokenizer)
            | "Add up" >> beam.CombinePerKey(sum)
        )


def _count(chunk: TextChunk, tokenizer: str) -> Iterable[tuple[bytes, int]]:
    """Counts a chunk where it is read, so that a word travels once per chunk."""
    counts = Counter({b"": 0})
    for tokens in tokenized_lines(chunk.lines, tokenizer):
        counts.update(tokens)
    return counts.items()


def _save(
    out: str,
    max_size: int | None,
    min_count: int,
    key: None,
    counts: Iterable[tuple[bytes, int]],
) -> None:
    words: Iterable[tuple[bytes, int]]
    words = (pair for pair in counts if pair[1] >= min_count)
    if max_size is not None:
        # The most frequent first; more by the specials, which a text may hold, though
        # they are no words.
        room = max_size + len(SPECIALS)
        words = heapq.nsmallest(room, words, key=lambda pair: (-pair[1], pair[0]))
    vocabulary = Vocabulary.from_counts(dict(words), max_size, min_count)
    # One file is written, and how many words were left out is not known here.
    vocabulary.counts = None
    write_whole(out, vocabulary.save)
