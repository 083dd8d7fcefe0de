"""Splits a text into words once, part by part."""

import os
import sys
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain
from types import NoneType
from typing import cast

from keras_elmo.config import TOKENIZERS
from keras_elmo.text.batching import TOKENIZER_THREADS, split_stream, token_chunks
from keras_elmo.text.line_sources import LineSource, SourceLine, open_source
from keras_elmo.text.lines import Files
from keras_elmo.text.part_dictionaries import Part, check_part
from keras_elmo.text.parts_folder import PartsFolder
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.checks import (
    check_boolean,
    check_choice,
    check_path,
    check_type,
    refuse,
)
from keras_elmo.utils.progress import Progress
from keras_elmo.utils.types import StrPath

# Words of a part, and of a shard of the folder: 16 MB of numbers.
_PART_WORDS = 4_000_000
# Bounds on what is numbered at a time of lines that are tokens.
_CHUNK_TOKENS = 200_000
_CHUNK_LINES = 2048


def prepare(
    corpus: Files | Iterable[object],
    out: StrPath,
    tokenizer: str | None = None,
    column: str | None = None,
    progress: bool = False,
) -> None:
    """Splits a text into words once, and writes it as a folder of numbers.

    `pretrain`, `perplexity`, `Corpus` and `Vocabulary.count` take the folder like the
    text: with the same seed, batches and vocabularies of any size are the same. It is
    read through memory maps, without TensorFlow.

    The words of 4 million at a time are written as a part into the folder `OUT.parts`,
    and numbered anew at the end, when all words of the text are known. A process that
    is killed loses the part that it was splitting: the same call goes on, and the bytes
    of the folder are the same. The memory depends on the number of distinct words, not
    on the length of the text.

    Args:
        corpus: the text: a path or a glob pattern, or several, as `Corpus` takes them;
            with `column`, of JSON lines or Parquet. Or an iterable of texts or of lists
            of tokens, such as a generator, a column of pandas, or a data set that is
            streamed; a list of strings is one of paths. A text of several lines becomes
            several lines.
        out: the folder to write. If it holds the same files already, nothing is done.
        tokenizer: the kind of `Tokenizer`; `"unicode"` if `None`. Lists of tokens stay
            as they are, as with `"whitespace"`.
        column: name of the text, in files or rows that have several; rows without a
            text are left out.
        progress: whether to show a bar and messages on stderr.

    Raises:
        ValueError: there is no word, a row is damaged or lacks the column, `out`
            exists, or the parts of an interrupted call are of another text.
        OSError: a file cannot be written; complete parts are kept.
        ImportError: Parquet needs the extra `parquet`.
        KeyboardInterrupt: after Ctrl-C; says what is kept.

    Example:

    ```python
    with open("text.txt", "w") as file:
        file.write("the bank of the river\\nthe bank\\n")
    keras_elmo.prepare("text.txt", "prepared")
    vocabulary = keras_elmo.Vocabulary.count("prepared")
    corpus = keras_elmo.Corpus("prepared", vocabulary, batch_tokens=20, max_tokens=10)
    (batch,) = corpus.batches(epoch=0)
    assert batch["token_ids"].shape == (2, 7)
    ```
    """
    check_path(out=out)
    check_choice((*TOKENIZERS, None), tokenizer=tokenizer)
    check_type((str, NoneType), "a name or None", column=column)
    check_boolean(progress=progress)
    source = open_source(corpus, column)
    if source.is_split:
        if tokenizer not in (None, "whitespace"):
            refuse("tokenizer", "None for text that is split already", tokenizer)
        tokenizer = "whitespace"
    folder = PartsFolder(os.path.normpath(out), source, tokenizer or "unicode")
    if folder.is_complete():
        if progress:
            print(f"{folder.out} is complete; nothing to do", file=sys.stderr)
        return
    stats = CorpusStats()
    try:
        with folder.opened():
            _split(source, tokenizer or "unicode", folder, stats, progress)
            if progress:
                print("Joining the parts", file=sys.stderr)
            folder.finish(stats)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped; {folder.kept()}") from None
    if progress:
        for message in stats.messages():
            print(message, file=sys.stderr)


def _split(
    source: LineSource,
    tokenizer: str,
    folder: PartsFolder,
    stats: CorpusStats,
    progress: bool,
) -> None:
    """Writes the parts that are missing."""
    lines = source.lines(stats)
    offsets = [0, *accumulate(size for _, size in source.files)]
    position = 0
    for path in folder.parts():
        last_line = check_part(path, lines, folder.path)
        position = offsets[last_line.file] + last_line.position
    with Progress("Preparing", offsets[-1] or None, visible=progress) as bar:
        bar.update(0, position)

        def show(words: int, line: SourceLine) -> None:
            bar.update(words, offsets[line.file] + line.position)

        for part in split_parts(lines, source.is_split, tokenizer, show):
            # Lines of no word at all make no text.
            if part.num_words or folder.parts():
                folder.write(part)
        bar.update(0, offsets[-1])
    if not folder.parts():
        raise ValueError(f"there is no word in {source.name}")


def split_parts(
    lines: Iterator[SourceLine],
    is_split: bool,
    tokenizer: str,
    show: Callable[[int, SourceLine], None] = lambda words, line: None,
) -> Iterator[Part]:
    """Yields the parts of a text, of which the last is shorter.

    `show` is called now and then, with the number of new words and the last line.
    """
    waiting: deque[SourceLine] = deque()
    noted = _noted(lines, waiting)
    if is_split:
        chunks = _chunks(cast(Iterator[list[bytes]], noted))
    else:
        texts = cast(Iterator[str], noted)
        chunks = token_chunks(texts, tokenizer, None, TOKENIZER_THREADS)
    part = Part()
    for tokens, limits in chunks:
        first = 0
        while first < len(limits) - 1:
            # Up to the line that fills the part.
            full = limits[first] + _PART_WORDS - part.num_words
            last = min(bisect_left(limits, full, first + 1), len(limits) - 1)
            read = [waiting.popleft() for _ in range(last - first)]
            part.add(tokens, limits[first : last + 1], read)
            first = last
            if part.num_words >= _PART_WORDS:
                yield part
                part = Part()
        show(len(tokens), read[-1])
    if part.num_lines:
        yield part


def _chunks(
    sentences: Iterable[list[bytes]],
) -> Iterator[tuple[list[bytes], list[int]]]:
    """Yields what `token_chunks` does, of lines that are tokens."""
    for part in split_stream(sentences, len, _CHUNK_TOKENS, _CHUNK_LINES):
        yield list(chain.from_iterable(part)), [0, *accumulate(map(len, part))]


def _noted(
    lines: Iterator[SourceLine], waiting: deque[SourceLine]
) -> Iterator[str | list[bytes]]:
    """Yields the content of lines, and keeps what else is known until it is split."""
    for line in lines:
        waiting.append(line)
        yield line.content
