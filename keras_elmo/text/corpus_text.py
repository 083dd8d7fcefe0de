"""What a `Corpus` reads: text files, a folder that `prepare` wrote, or an iterable."""

import functools
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from operator import attrgetter
from random import Random
from typing import Any, TypeAlias

import numpy as np

from keras_elmo.config import MAX_BYTES
from keras_elmo.text.batching import Tokens, interleaved, shuffled, tokenized_lines
from keras_elmo.text.distinct_words import DistinctWords
from keras_elmo.text.line_sources import (
    NamesAndSizes,
    names_and_sizes,
    with_kind,
)
from keras_elmo.text.lines import (
    Files,
    expand_files,
    positioned_lines,
    prepared_folder,
    read_lines,
)
from keras_elmo.text.plain_ids import PlainIds, distinct_words, place_words
from keras_elmo.text.prepared import Line, PreparedText
from keras_elmo.text.preparing import prepare
from keras_elmo.text.sentence_ends import Marks, marks_of, split_sentence
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import END, PADDING_ID, START, UNKNOWN, Vocabulary
from keras_elmo.token_vocabulary import TokenVocabulary
from keras_elmo.utils.lazy import has_tensorflow

# Words at the ends of rows whose marks are remembered: few words are as frequent.
_REMEMBERED_WORDS = 1 << 16
TOKENIZER = "unicode"
# Of the most frequent words the ids are kept; with 50 of them they take 26 MB.
_KEPT_WORDS = 1 << 17
# The targets of a masked position and of both boundaries.
_TARGETS = np.array([PADDING_ID, START, END], "int32")
# Of some rows: the ids of their distinct words, the place of each word among these, and
# `token_ids`.
Ids: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
# A file, or a line of it: as `RawText` or `IndexedText` knows it.
Part: TypeAlias = Any
# The tokens of a row, or their numbers.
Row: TypeAlias = Any


class CorpusText:
    """Text that is read again and again, always in the same way.

    Attributes:
        files: the paths.
        tokenizer: the kind of `Tokenizer` that splits it.
        needs_tensorflow: whether TensorFlow splits it while it is read.
    """

    files: list[str]
    tokenizer: str
    needs_tensorflow = False
    # The files to read, in order, and the number of characters of one of their lines.
    _parts: Sequence[Part]
    _size: Callable[[Part], int]

    def names_and_sizes(self) -> NamesAndSizes:
        """Returns the name and the bytes of each text file, for a run's manifest."""
        raise NotImplementedError

    def encoder(
        self, vocabulary: Vocabulary, token_vocabulary: TokenVocabulary | None
    ) -> Callable[[Sequence[Row]], Ids]:
        """Returns what makes the ids of some rows."""
        raise NotImplementedError

    def rows(
        self,
        most: int,
        stats: CorpusStats,
        random: Random | None,
        shard: tuple[int, int],
    ) -> Iterator[Row]:
        """Yields rows of up to `most` words, of a shard of the text.

        Without `random` they are in the order of the text.
        """
        parts, (first, every) = self._parts, shard
        if len(parts) >= every:
            parts, first, every = parts[first::every], 0, 1
        if random is not None:
            parts = random.sample(parts, len(parts))
        files = (self._open(part, first, every, stats) for part in parts)
        lines: Iterator[Part] = (line for file in files for _, line in file)
        if random is not None:
            lines = shuffled(interleaved(files), random, self._size)
        for tokens in self._split(lines, stats):
            rows = split_sentence(tokens, most, self._marks)
            stats.used_lines += 1
            stats.split_lines += len(rows) > 1
            # A line of unusual spaces alone has no token.
            yield from (row for row in rows if len(row))

    def _open(
        self, part: Part, first: int, every: int, stats: CorpusStats
    ) -> Iterator[tuple[float, Part]]:
        """Yields every n-th line of a file, after the fraction of the file before."""
        raise NotImplementedError

    def _split(self, lines: Iterable[Part], stats: CorpusStats) -> Iterator[Row]:
        """Yields the tokens of each line, or their numbers."""
        raise NotImplementedError

    def _marks(self, token: Row) -> Marks:
        """Returns `marks_of` a token, or of what its number stands for."""
        raise NotImplementedError


def open_text(corpus: Files | Iterable[object], tokenizer: str | None) -> CorpusText:
    """Opens text files, a prepared text, or an iterable, which is prepared first.

    Raises:
        ValueError: no file matches, there is no text, or the folder is damaged or was
            split by another tokenizer.
    """
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


class RawText(CorpusText):
    """Text files, which are split as they are read."""

    _size = staticmethod(len)
    _marks = staticmethod(marks_of)

    def __init__(self, files: Files, tokenizer: str | None) -> None:
        # Else it is split in Python, more slowly.
        self.needs_tensorflow = has_tensorflow()
        self.files = self._parts = expand_files(files)
        self.tokenizer = tokenizer or TOKENIZER
        # Not later, where the error would be one of TensorFlow.
        if next(read_lines(self.files), None) is None:
            raise ValueError(f"there is no text in {', '.join(self.files)}")

    def names_and_sizes(self) -> NamesAndSizes:
        return names_and_sizes(self.files)

    def encoder(
        self, vocabulary: Vocabulary, token_vocabulary: TokenVocabulary | None
    ) -> Callable[[Sequence[Tokens]], Ids]:
        plain, get = PlainIds(token_vocabulary), vocabulary.lookup.get

        def ids_of(rows: Sequence[Tokens]) -> Ids:
            words, places = distinct_words(rows)
            targets = np.array([get(word, UNKNOWN) for word in words], "int32")
            targets = np.concatenate([_TARGETS, targets])
            return plain.table(plain.encode(words)), places, targets[places]

        return ids_of

    def _open(
        self, part: str, first: int, every: int, stats: CorpusStats
    ) -> Iterator[tuple[float, str]]:
        size = max(1, os.path.getsize(part))
        lines = islice(positioned_lines(part, stats), first, None, every)
        return ((position / size, line) for position, line in lines)

    def _split(self, lines: Iterable[str], stats: CorpusStats) -> Iterator[Tokens]:
        return tokenized_lines(lines, self.tokenizer, stats)


class IndexedText(CorpusText):
    """A text that `prepare` has split."""

    _size = staticmethod(attrgetter("characters"))

    def __init__(self, folder: str, tokenizer: str | None) -> None:
        self._text = PreparedText(folder, tokenizer)
        self.files = [folder]
        self.tokenizer = self._text.tokenizer
        num_lines = [file.num_lines for file in self._text.files]
        starts = accumulate(num_lines, initial=0)
        self._parts = list(zip(self._text.files, starts, strict=False))

    def names_and_sizes(self) -> NamesAndSizes:
        return self._text.names_and_sizes()

    def encoder(
        self, vocabulary: Vocabulary, token_vocabulary: TokenVocabulary | None
    ) -> Callable[[Sequence[np.ndarray]], Ids]:
        return IndexedIds(self._text.words, vocabulary, PlainIds(token_vocabulary))

    def _open(
        self, part: Part, first: int, every: int, stats: CorpusStats
    ) -> Iterator[tuple[float, Line]]:
        file, start = part
        stats.lines += file.num_lines
        lines = self._text.lines(start + first, start + file.num_lines, every)
        size = max(1, file.size)
        return ((position / size, line) for line, position in lines)

    def _split(self, lines: Iterable[Line], stats: CorpusStats) -> Iterator[np.ndarray]:
        self._text.count_changes(stats, "invalid_lines", "lines_with_nul")
        is_truncated = self._text.words.num_bytes() > MAX_BYTES
        for line in lines:
            words = self._text.words_of(line)
            stats.words += len(words)
            stats.truncated_words += int(np.count_nonzero(is_truncated[words]))
            yield words

    @functools.cached_property
    def _marks(self) -> Callable[[int], Marks]:
        words = self._text.words
        return functools.lru_cache(_REMEMBERED_WORDS)(
            lambda number: marks_of(words[number])
        )


class IndexedIds:
    """Makes the ids of rows whose words are numbers of distinct words."""

    def __init__(
        self, words: DistinctWords, vocabulary: Vocabulary, encode: PlainIds
    ) -> None:
        get = vocabulary.lookup.get
        targets = (get(word, UNKNOWN) for word in words)
        self._targets = np.fromiter(targets, "int32", count=len(words))
        self._words = words
        self._encode = encode
        num_kept = min(len(words), _KEPT_WORDS)
        self._kept = np.empty((num_kept, encode.num_ids), "int32")
        self._is_known = np.zeros(num_kept, bool)

    def __call__(self, rows: Sequence[np.ndarray]) -> Ids:
        # In the order in which they occur, as in raw text.
        words, first, which = np.unique(np.concatenate(rows), True, True)
        order = np.argsort(first)
        places = place_words([*map(len, rows)], np.argsort(order)[which])
        words = words[order]
        targets = np.concatenate([_TARGETS, self._targets[words]])
        return self._encode.table(self._look_up(words)), places, targets[places]

    def _look_up(self, words: np.ndarray) -> np.ndarray:
        """Returns the ids of distinct words; keeps the ids of frequent ones."""
        is_kept = words < len(self._is_known)
        kept = words[is_kept]
        new = kept[~self._is_known[kept]]
        if len(new):
            self._kept[new] = self._ids(new)
            self._is_known[new] = True
        ids = np.empty((len(words), self._kept.shape[1]), "int32")
        ids[is_kept] = self._kept[kept]
        if len(kept) < len(words):
            ids[~is_kept] = self._ids(words[~is_kept])
        return ids

    def _ids(self, words: np.ndarray) -> np.ndarray:
        return self._encode.encode([self._words[number] for number in words.tolist()])
