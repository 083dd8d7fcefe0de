"""The text of a `Corpus`: text files, a folder that `prepare` wrote, or an iterable."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, islice
from operator import attrgetter
from random import Random
from typing import Any, TypeAlias

import numpy as np

from keras_elmo.config import MAX_BYTES
from keras_elmo.text.batching import Tokens, interleaved, shuffled, tokenized_lines
from keras_elmo.text.line_sources import NamesAndSizes, names_and_sizes, with_kind
from keras_elmo.text.lines import (
    Files,
    expand_files,
    positioned_lines,
    prepared_folder,
    read_lines,
)
from keras_elmo.text.plain_ids import PlainIds, distinct_words, place_words
from keras_elmo.text.prepared import Line, PreparedText, TextFile
from keras_elmo.text.preparing import prepare
from keras_elmo.text.sentence_ends import Marks, marks_of, split_sentence
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import END, PADDING_ID, START, UNKNOWN, Vocabulary
from keras_elmo.token_vocabulary import TokenVocabulary
from keras_elmo.utils.lazy import has_tensorflow

# Words at the ends of rows whose marks are remembered: few words are as frequent.
_REMEMBERED_WORDS = 1 << 16
TOKENIZER = "unicode"
# The most frequent words, whose ids are kept; 50 ids each take 26 MB.
_KEPT_WORDS = 1 << 17
# The targets of a masked position and of both boundaries.
_TARGETS = np.array([PADDING_ID, START, END], "int32")
# For some rows: the ids of their distinct words, the place of each word among these,
# and `token_ids`.
Ids: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
# A file or a line of a text, as `RawText` or `IndexedText` knows it.
Part: TypeAlias = Any
# The tokens of a row, or their numbers.
Row: TypeAlias = Part


class RawText:
    """Text files, which are split as they are read.

    Attributes:
        files: the paths.
        tokenizer: the kind of `Tokenizer` that splits it.
        needs_tensorflow: whether TensorFlow splits it while it is read.
        parts: the files to read, in order.
        size: returns the number of characters of a line.
        marks: returns `marks_of` a token.
    """

    size = staticmethod(len)
    marks = staticmethod(marks_of)

    def __init__(self, files: Files, tokenizer: str | None) -> None:
        # Otherwise Python splits it, more slowly.
        self.needs_tensorflow = has_tensorflow()
        self.files = self.parts = expand_files(files)
        self.tokenizer = tokenizer or TOKENIZER
        # Later, TensorFlow would raise its own error.
        if next(read_lines(self.files), None) is None:
            raise ValueError(f"there is no text in {', '.join(self.files)}")

    def names_and_sizes(self) -> NamesAndSizes:
        """Returns the name and the bytes of each text file, for a run's manifest."""
        return names_and_sizes(self.files)

    def encoder(
        self, vocabulary: Vocabulary, token_vocabulary: TokenVocabulary | None
    ) -> Callable[[Sequence[Row]], Ids]:
        """Returns what makes the ids of some rows."""
        plain, get = PlainIds(token_vocabulary), vocabulary.lookup.get

        def make_ids(rows: Sequence[Tokens]) -> Ids:
            words, places = distinct_words(rows)
            targets = np.array([get(word, UNKNOWN) for word in words], "int32")
            targets = np.concatenate([_TARGETS, targets])
            return plain.table(plain.encode(words)), places, targets[places]

        return make_ids

    def open(
        self, part: str, first: int, every: int, stats: CorpusStats
    ) -> Iterator[tuple[float, str]]:
        """Yields every n-th line of a file, after the fraction of the file before."""
        size = max(1, os.path.getsize(part))
        lines = islice(positioned_lines(part, stats), first, None, every)
        return ((position / size, line) for position, line in lines)

    def split(self, lines: Iterable[str], stats: CorpusStats) -> Iterator[Row]:
        """Yields the tokens of each line."""
        return tokenized_lines(lines, self.tokenizer, stats)


class IndexedText:
    """A text that `prepare` has split: words are numbers. It is read like `RawText`."""

    needs_tensorflow = False
    size = staticmethod(attrgetter("characters"))

    def __init__(self, folder: str, tokenizer: str | None) -> None:
        self._text = text = PreparedText(folder, tokenizer)
        self.files = [folder]
        self.tokenizer = text.tokenizer
        starts = accumulate((file.num_lines for file in text.files), initial=0)
        self.parts = list(zip(text.files, starts, strict=False))
        self.names_and_sizes = text.names_and_sizes
        self.marks: Callable[[int], Marks] = lru_cache(_REMEMBERED_WORDS)(
            lambda number: marks_of(text.words[number])
        )

    def encoder(
        self, vocabulary: Vocabulary, token_vocabulary: TokenVocabulary | None
    ) -> Callable[[Sequence[Row]], Ids]:
        plain, get = PlainIds(token_vocabulary), vocabulary.lookup.get
        words = self._text.words
        targets = np.fromiter((get(word, UNKNOWN) for word in words), "int32")
        kept = plain.encode(list(islice(words, _KEPT_WORDS)))

        def make_ids(rows: Sequence[np.ndarray]) -> Ids:
            # In the order in which they occur, as in raw text.
            numbers, first, which = np.unique(np.concatenate(rows), True, True)
            order = np.argsort(first)
            numbers, place_of = numbers[order], np.argsort(order)
            places = place_words([*map(len, rows)], place_of[which])
            is_kept = numbers < len(kept)
            ids = np.empty((len(numbers), plain.num_ids), "int32")
            ids[is_kept] = kept[numbers[is_kept]]
            rare = [words[number] for number in numbers[~is_kept].tolist()]
            ids[~is_kept] = plain.encode(rare)
            of_rows = np.concatenate([_TARGETS, targets[numbers]])
            return plain.table(ids), places, of_rows[places]

        return make_ids

    def open(
        self, part: tuple[TextFile, int], first: int, every: int, stats: CorpusStats
    ) -> Iterator[tuple[float, Line]]:
        file, start = part
        stats.lines += file.num_lines
        lines = self._text.lines(start + first, start + file.num_lines, every)
        size = max(1, file.size)
        return ((position / size, line) for line, position in lines)

    def split(self, lines: Iterable[Line], stats: CorpusStats) -> Iterator[Row]:
        self._text.count_changes(stats, "invalid_lines", "lines_with_nul")
        is_truncated = self._text.words.num_bytes() > MAX_BYTES
        for line in lines:
            words = self._text.read_line(line)
            stats.words += len(words)
            stats.truncated_words += int(np.count_nonzero(is_truncated[words]))
            yield words


def open_text(
    corpus: Files | Iterable[object], tokenizer: str | None
) -> RawText | IndexedText:
    """Opens text files, a prepared text, or an iterable, which is prepared first."""
    files, kind = with_kind(corpus)
    if kind not in ("texts", "tokens"):
        folder = prepared_folder(files)
        if folder is None:
            return RawText(files, tokenizer)
        return IndexedText(folder, tokenizer)
    room = tempfile.mkdtemp(prefix="keras_elmo-")
    try:
        prepare(files, os.path.join(room, "text"), tokenizer)
        text = IndexedText(os.path.join(room, "text"), tokenizer=None)
    except BaseException:
        shutil.rmtree(room)
        raise
    weakref.finalize(text, shutil.rmtree, room, ignore_errors=True)
    return text


def read_rows(
    text: RawText | IndexedText,
    most: int,
    stats: CorpusStats,
    random: Random | None,
    shard: tuple[int, int],
) -> Iterator[Row]:
    """Yields the rows of a shard, each of up to `most` words.

    Without `random` they are in the order of the text.
    """
    parts: list[Part] = list(text.parts)
    first, every = shard
    if len(parts) >= every:
        parts, first, every = parts[first::every], 0, 1
    if random is not None:
        parts = random.sample(parts, len(parts))
    files = (text.open(part, first, every, stats) for part in parts)
    lines: Iterator[Part] = (line for file in files for _, line in file)
    if random is not None:
        lines = shuffled(interleaved(files), random, text.size)
    for tokens in text.split(lines, stats):
        rows = split_sentence(tokens, most, text.marks)
        stats.used_lines += 1
        stats.split_lines += len(rows) > 1
        # A line of unusual spaces alone has no token.
        yield from (row for row in rows if len(row))
