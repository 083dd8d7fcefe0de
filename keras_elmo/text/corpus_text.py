"""What a `Corpus` reads: text files, or a folder that `prepare` wrote."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import attrgetter
from random import Random
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from keras_elmo.config import MAX_BYTES
from keras_elmo.text.batching import (
    Pace,
    Tokens,
    interleaved,
    shuffled,
    tokenized_lines,
)
from keras_elmo.text.indexed_ids import IndexedIds
from keras_elmo.text.line_sources import names_and_sizes
from keras_elmo.text.lines import (
    Files,
    Shard,
    expand_files,
    prepared_folder,
    read_lines,
)
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.text.prepared import Line, PreparedText
from keras_elmo.text.sentence_ends import Marks, marks_of, split_sentence
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import END, PADDING_ID, START, UNKNOWN, Vocabulary
from keras_elmo.token_vocabulary import TokenVocabulary

T = TypeVar("T")
# Words at the ends of rows that are looked at once: few others are so frequent.
_REMEMBERED_WORDS = 1 << 16
TOKENIZER = "unicode"
# Of some rows: the ids of their distinct words, the place of each word among these, and
# `token_ids`.
Ids: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
# The tokens of a row, or their numbers.
Row: TypeAlias = Any


class CorpusText(Protocol):
    """Text that is read again and again, always in the same way.

    Attributes:
        files: the paths.
        tokenizer: the kind of `Tokenizer` that splits it.
        needs_tensorflow: whether it is split while it is read.
    """

    files: list[str]
    tokenizer: str
    needs_tensorflow: bool

    def names_and_sizes(self) -> list[list[object]]:
        """Returns the name and the bytes of each text file, for a run's manifest."""

    def rows(
        self,
        most: int,
        stats: CorpusStats,
        random: Random | None,
        shard: tuple[int, int],
    ) -> Iterator[Row]:
        """Yields rows of up to `most` words, of a shard of the text.

        The order is that of the text, or depends on `random`.
        """

    def encoder(
        self, vocabulary: Vocabulary, token_vocabulary: TokenVocabulary | None
    ) -> Callable[[Sequence[Row]], Ids]:
        """Returns what makes the ids of some rows."""


def open_text(files: Files, tokenizer: str | None) -> CorpusText:
    """Opens text files or a prepared text.

    Raises:
        ValueError: no file matches, there is no text, or the folder is damaged or was
            split by another tokenizer.
    """
    folder = prepared_folder(files)
    return (
        RawText(files, tokenizer) if folder is None else IndexedText(folder, tokenizer)
    )


class RawText:
    """Text files, which are split as they are read."""

    needs_tensorflow = True

    def __init__(self, files: Files, tokenizer: str | None) -> None:
        self.files = expand_files(files)
        self.tokenizer = tokenizer or TOKENIZER
        # Not later, where the error would be one of TensorFlow.
        if next(read_lines(self.files), None) is None:
            raise ValueError(f"there is no text in {', '.join(self.files)}")

    def names_and_sizes(self) -> list[list[object]]:
        return list(map(list, names_and_sizes(self.files)))

    def rows(
        self,
        most: int,
        stats: CorpusStats,
        random: Random | None,
        shard: tuple[int, int],
    ) -> Iterator[Tokens]:
        files, first, every = _share(self.files, shard)

        def open_file(path: str) -> Shard:
            return Shard(path, stats, first, every)

        lines = _lines(files, open_file, random, len)
        return _rows(tokenized_lines(lines, self.tokenizer, stats), most, stats)

    def encoder(
        self, vocabulary: Vocabulary, token_vocabulary: TokenVocabulary | None
    ) -> Callable[[Sequence[Tokens]], Ids]:
        encode = PlainIds(token_vocabulary)
        return lambda rows: (*encode.distinct(rows), _token_ids(rows, vocabulary))


class IndexedText:
    """A text that `prepare` has split."""

    needs_tensorflow = False

    def __init__(self, folder: str, tokenizer: str | None) -> None:
        self._text = PreparedText(folder, tokenizer)
        self.files = [folder]
        self.tokenizer = self._text.tokenizer

    def names_and_sizes(self) -> list[list[object]]:
        return self._text.names_and_sizes()

    def rows(
        self,
        most: int,
        stats: CorpusStats,
        random: Random | None,
        shard: tuple[int, int],
    ) -> Iterator[np.ndarray]:
        self._text.count_changes(stats, "invalid_lines", "lines_with_nul")
        files = self._text.files
        limits = [0, *accumulate(file.num_lines for file in files)]
        numbers, first, every = _share(range(len(files)), shard)
        stats.lines += sum(files[number].num_lines for number in numbers)

        def open_file(number: int) -> IndexedFile:
            start, stop = limits[number : number + 2]
            size = files[number].size
            return IndexedFile(self._text, start + first, stop, every, size)

        lines = _lines(numbers, open_file, random, attrgetter("characters"))
        words = self._text.words

        @functools.lru_cache(_REMEMBERED_WORDS)
        def marks(number: int) -> Marks:
            return marks_of(words[number])

        return _rows(self._words(lines, stats), most, stats, marks)

    def _words(self, lines: Iterable[Line], stats: CorpusStats) -> Iterator[np.ndarray]:
        is_truncated = self._text.words.num_bytes() > MAX_BYTES
        for line in lines:
            words = self._text.words_of(line)
            stats.words += len(words)
            stats.truncated_words += int(np.count_nonzero(is_truncated[words]))
            yield words

    def encoder(
        self, vocabulary: Vocabulary, token_vocabulary: TokenVocabulary | None
    ) -> Callable[[Sequence[np.ndarray]], Ids]:
        return IndexedIds(self._text.words, vocabulary, PlainIds(token_vocabulary))


class IndexedFile:
    """An iterator of the lines of a file, or of every n-th line, as a `Shard` is."""

    def __init__(
        self, text: PreparedText, start: int, stop: int, step: int, size: int
    ) -> None:
        self._lines = text.lines(start, stop, step)
        self._size = max(1, size)
        self.fraction_read = 0.0

    def __iter__(self) -> Iterator[Line]:
        return self

    def __next__(self) -> Line:
        line, position = next(self._lines)
        self.fraction_read = position / self._size
        return line


def _share(files: Sequence[Any], shard: tuple[int, int]) -> tuple[Any, int, int]:
    """Returns the files of a shard, their first line, and the distance of lines."""
    first, every = shard
    if len(files) >= every:
        return files[first::every], 0, 1
    return files, first, every


def _lines(
    files: Sequence[T],
    open_file: Callable[[T], Pace[Any]],
    random: Random | None,
    size: Callable[..., int],
) -> Iterator[Any]:
    """Yields the lines of files: in order, or interleaved and shuffled."""
    if random is None:
        return chain.from_iterable(map(open_file, files))
    drawn = random.sample(files, len(files))
    return shuffled(interleaved(map(open_file, drawn)), random, size)


def _rows(
    lines: Iterable[Row],
    most: int,
    stats: CorpusStats,
    marks: Callable[..., Marks] = marks_of,
) -> Iterator[Row]:
    for tokens in lines:
        rows = split_sentence(tokens, most, marks)
        stats.used_lines += 1
        stats.split_lines += len(rows) > 1
        # A line of unusual spaces alone has no token.
        yield from (row for row in rows if len(row))


def _token_ids(rows: Sequence[Tokens], vocabulary: Vocabulary) -> np.ndarray:
    get = vocabulary.lookup.get
    token_ids = np.full((len(rows), max(map(len, rows)) + 2), PADDING_ID, "int32")
    for row, tokens in zip(token_ids, rows, strict=True):
        ids = [get(token, UNKNOWN) for token in tokens]
        row[: len(ids) + 2] = [START, *ids, END]
    return token_ids
