"""The words that a language model predicts, and their ids."""

import hashlib
import itertools
import os
import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from keras_elmo.text.batching import TOKENIZER_THREADS, token_chunks
from keras_elmo.text.lines import BYTE_ORDER_MARK, Files, expand_files, read_lines
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.files import replacing
from keras_elmo.utils.progress import Progress
from keras_elmo.utils.types import StrPath


class WordCounts:
    """Counts words in bounded memory, by lossy counting.

    When there are too many distinct words, the rarest are dropped until half of the
    room is free. A dropped word that occurs again is counted anew. So no count is too
    high, and none is too low by more than `stats.max_count_error`, which also bounds
    the number of times that a dropped word occurs.

    Args:
        max_distinct: words in memory after an update. A word of up to 15 bytes takes
            100 to 160 bytes at the peak; 20 million took 2.1 GB.
        stats: counts what is read and dropped.

    Attributes:
        counts: the count of each word in memory.

    Reference: Manku and Motwani 2002, Approximate Frequency Counts over Data Streams;
    there the error is given and the memory follows.
    """

    def __init__(self, max_distinct: int, stats: CorpusStats) -> None:
        self.counts: Counter[bytes] = Counter()
        self._max_distinct = max_distinct
        self._stats = stats

    def read(self, paths: Sequence[str], tokenizer: str, progress: bool) -> None:
        """Counts the words of text files, with or without a progress bar on stderr."""
        bytes_read = 0

        def advance(count: int) -> None:
            nonlocal bytes_read
            bytes_read += count

        lines = read_lines(paths, self._stats, advance)
        chunks = token_chunks(lines, tokenizer, self._stats, TOKENIZER_THREADS)
        if not progress:
            for tokens, _ in chunks:
                self.update(tokens)
            return
        with Progress("Counting words", sum(map(os.path.getsize, paths))) as bar:
            for tokens, _ in chunks:
                self.update(tokens)
                bar.update(len(tokens), position=bytes_read)

    def update(self, words: Iterable[bytes]) -> None:
        """Counts more words; until it returns, all of them may be in memory."""
        self.counts.update(words)
        if len(self.counts) > self._max_distinct:
            self._drop_rarest(len(self.counts) - (self._max_distinct + 1) // 2)

    def _drop_rarest(self, number: int) -> None:
        # Of equally rare words, drop the older ones.
        rarest = sorted(self.counts, key=self.counts.__getitem__)[:number]
        self._stats.max_count_error += self.counts[rarest[-1]]
        for word in rarest:
            self._stats.dropped_words += self.counts.pop(word)
        # A dictionary does not shrink by itself.
        self.counts = self.counts.copy()


START, END, UNKNOWN = 0, 1, 2
# The target id of a padded position.
PADDING_ID = -1
SPECIALS = ("<S>", "</S>", "<UNK>")
_SPECIAL_WORDS = frozenset(special.encode() for special in SPECIALS)

# In bytes; a longer one is a sign of a file that is no vocabulary.
_LONGEST_LINE = 1 << 24


class Vocabulary:
    """The target ids of a language model: special words, then words by frequency.

    The ids of `<S>`, `</S>` and `<UNK>` are 0, 1 and 2. A file has one word a line, as
    the vocabularies of the published models.

    Args:
        words: the three special words, then distinct words, the most frequent first.

    Attributes:
        words: the word of every id.
        lookup: the id of each word in UTF-8, without the special words: a word of a
            text that is spelt like one is an unknown word.

    Raises:
        ValueError: the special words are missing, or a word is empty, repeated, or
            contains a line end; names the line.

    Example:

    ```python
    with open("text.txt", "w") as file:
        file.write("the bank of the river\\n")
    vocabulary = keras_elmo.Vocabulary.count("text.txt", max_size=5)
    assert vocabulary.words == ["<S>", "</S>", "<UNK>", "the", "bank"]
    assert vocabulary.ids(["the", "river", "bank"]) == [3, 2, 4]
    vocabulary.save("vocabulary.txt")
    assert len(keras_elmo.Vocabulary.load("vocabulary.txt")) == 5
    ```
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = list(words)
        if tuple(self.words[:3]) != SPECIALS:
            raise ValueError(
                f"lines 1 to 3 must be {', '.join(SPECIALS)}. "
                f"Received: {', '.join(word[:20] for word in self.words[:3])}"
            )
        self.lookup: dict[bytes, int] = {}
        for token_id, word in enumerate(self.words[3:], 3):
            if not word or "\n" in word or "\r" in word:
                raise ValueError(
                    f"line {token_id + 1} must be a word without a line end. "
                    f"Received: {reprlib.repr(word)}"
                )
            if self.lookup.setdefault(word.encode(), token_id) != token_id:
                first = self.lookup[word.encode()] + 1
                raise ValueError(
                    f"line {token_id + 1} repeats line {first}: {reprlib.repr(word)}"
                )
            if word in SPECIALS:
                raise ValueError(f"line {token_id + 1} repeats a special: {word!r}")

    @classmethod
    def count(
        cls,
        files: Files,
        tokenizer: str = "unicode",
        max_size: int | None = None,
        min_count: int = 1,
        progress: bool = False,
        report: CorpusStats | None = None,
        max_distinct: int = 20_000_000,
    ) -> "Vocabulary":
        """Counts the words of text files, which are streamed.

        Words of equal count are sorted by their characters, so the vocabulary does not
        depend on how the text is split into files.

        With more than `max_distinct` distinct words, the rarest are dropped on the way.
        Then a count may be too low by `report.max_count_error`, never too high, and
        depends on the order of the text. Every word that occurs more often than the
        last one of the vocabulary by more than that error is still in it.

        Args:
            files: a path or a glob pattern, or several; see `expand_files`.
            tokenizer: the kind of `Tokenizer`.
            max_size: number of words at most, the three special ones included.
            min_count: how often a word has to occur.
            progress: whether to show a bar with words/s on stderr.
            report: counts what is read and dropped.
            max_distinct: distinct words in memory, at least twice `max_size`; 20
                million take 2.1 GB.

        Raises:
            ValueError: no file matches, a file is damaged, or there is no word.
        """
        check_sizes(max_size, min_count)
        # At the end of the text half of them may have just been dropped.
        least = 2 * (len(SPECIALS) + 1 if max_size is None else max_size)
        if max_distinct < least:
            raise ValueError(
                f"`max_distinct` must be at least {least}, twice the size of the "
                f"vocabulary. Received: max_distinct={max_distinct}, "
                f"max_size={max_size}"
            )
        paths = expand_files(files)
        report = CorpusStats() if report is None else report
        word_counts = WordCounts(max_distinct, report)
        word_counts.read(paths, tokenizer, progress)
        counts = word_counts.counts
        if not counts.keys() - _SPECIAL_WORDS:
            raise ValueError(f"there is no word in {', '.join(paths)}")
        return cls.from_counts(counts, max_size, min_count)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[bytes, int],
        max_size: int | None = None,
        min_count: int = 1,
    ) -> "Vocabulary":
        """Makes a vocabulary of counted words; the arguments are those of `count`.

        Raises:
            ValueError: no word is left.
        """
        check_sizes(max_size, min_count)
        words = counts.keys() - _SPECIAL_WORDS
        # UTF-8 sorts as its characters do, and words of equal count stay in order.
        kept = sorted(word for word in words if counts[word] >= min_count)
        kept.sort(key=counts.__getitem__, reverse=True)
        if not kept:
            raise ValueError(
                "`min_count` must leave a word; the most frequent one was counted "
                f"{max((counts[word] for word in words), default=0)} times. "
                f"Received: min_count={min_count}"
            )
        if max_size is not None:
            del kept[max_size - len(SPECIALS) :]
        return cls([*SPECIALS, *(word.decode() for word in kept)])

    @classmethod
    def load(cls, path: StrPath) -> "Vocabulary":
        """Reads a file of one word a line.

        Raises:
            ValueError: a line is not what it must be; names the file and the line.
        """
        try:
            return cls(read_words(path))
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from error

    def save(self, path: StrPath) -> None:
        """Writes a file of one word a line, replacing one of that name."""
        with replacing(path) as temporary:
            with open(temporary, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{word}\n" for word in self.words)

    def ids(self, tokens: Iterable[str | bytes]) -> list[int]:
        """Returns the id of each token, that of `<UNK>` for an unknown one."""
        get = self.lookup.get
        return [
            get(token if isinstance(token, bytes) else token.encode(), UNKNOWN)
            for token in tokens
        ]

    def digest(self) -> str:
        """Returns the SHA-256 of the words."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.words)


def check_sizes(max_size: int | None, min_count: int) -> None:
    """Raises a `ValueError` unless a vocabulary of such sizes can have a word."""
    if max_size is not None and max_size <= len(SPECIALS):
        raise ValueError(
            f"`max_size` must be more than the {len(SPECIALS)} specials. "
            f"Received: max_size={max_size}"
        )
    if min_count < 1:
        raise ValueError(
            f"`min_count` must be at least 1. Received: min_count={min_count}"
        )


def read_words(path: StrPath) -> Iterator[str]:
    """Yields the lines of a vocabulary; a `ValueError` names the line alone."""
    # Opening a pipe would block.
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError("must be a file")
    with open(path, "rb") as file:
        for number in itertools.count(1):
            line = file.readline(_LONGEST_LINE + 1)
            if not line:
                return
            if len(line) > _LONGEST_LINE:
                raise ValueError(f"line {number} has more than {_LONGEST_LINE:,} bytes")
            if number == 1:
                line = line.removeprefix(BYTE_ORDER_MARK)
            try:
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                raise ValueError(f"line {number} is not UTF-8: {error}") from error
