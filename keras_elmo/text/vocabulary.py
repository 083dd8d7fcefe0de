"""The words a language model predicts, and their ids."""

import hashlib
import itertools
import os
import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO

from keras_elmo.text.batching import TOKENIZER_THREADS, token_chunks
from keras_elmo.text.lines import BYTE_ORDER_MARK, Files, expand_files, read_lines
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.files import replacing
from keras_elmo.utils.progress import Progress


class WordCounts:
    """Counts words; when there are too many distinct ones, the rarest are dropped.

    Half of what there is room for then stays. A word that was dropped begins anew when
    it comes back. So no count is too high, and none is too low by more than
    `report.max_count_error`; nor does a word that is not held occur more often.

    Args:
        max_distinct: words held after an update. One of up to 15 bytes takes 100 to
            160 bytes at the peak, as measured; 20 million take 2.1 GB.
        report: counts what is read, and what is dropped.

    Attributes:
        counts: how often each of the words held was met.

    Reference: Manku and Motwani 2002, Approximate Frequency Counts over Data Streams,
        whose lossy counting is given the error, and finds out what memory that takes.
    """

    def __init__(self, max_distinct: int, report: CorpusStats) -> None:
        self.counts: Counter[bytes] = Counter()
        self._max_distinct = max_distinct
        self._report = report

    def read(self, paths: Sequence[str], tokenizer: str, progress: bool) -> None:
        """Counts the words of text files, with a bar on stderr or without."""
        bytes_read = 0

        def advance(count: int) -> None:
            nonlocal bytes_read
            bytes_read += count

        lines = read_lines(paths, self._report, advance)
        chunks = token_chunks(lines, tokenizer, self._report, TOKENIZER_THREADS)
        if not progress:
            for tokens, _ in chunks:
                self.update(tokens)
            return
        with Progress("Counting words", sum(map(os.path.getsize, paths))) as bar:
            for tokens, _ in chunks:
                self.update(tokens)
                bar.update(len(tokens), position=bytes_read)

    def update(self, words: Iterable[bytes]) -> None:
        """Counts more words, all of which may be held until it returns."""
        self.counts.update(words)
        if len(self.counts) > self._max_distinct:
            # Half at a time: as many new words come before the next time.
            self._drop_rarest(len(self.counts) - (self._max_distinct + 1) // 2)

    def _drop_rarest(self, number: int) -> None:
        # Of words that are equally rare, the older ones had more time to come back.
        rarest = sorted(self.counts, key=self.counts.__getitem__)[:number]
        self._report.max_count_error += self.counts[rarest[-1]]
        for word in rarest:
            self._report.dropped_words += self.counts.pop(word)
        # A dictionary keeps its size, and would grow past what the rest needs.
        self.counts = self.counts.copy()


START, END, UNKNOWN = 0, 1, 2
# The target id of a padded position.
PADDING_ID = -1
SPECIALS = ("<S>", "</S>", "<UNK>")
_SPECIAL_WORDS = frozenset(special.encode() for special in SPECIALS)

# Of a file that is none of words; a token of a text may be long.
_LONGEST_LINE = 1 << 24


class Vocabulary:
    """Target ids of a language model: the specials, then words by frequency.

    The ids of `<S>`, `</S>` and `<UNK>` are 0, 1 and 2, those of the words follow.
    In a file there is a word a line, as in the published models' vocabularies.

    Args:
        words: the three specials, then distinct words, the most frequent first.

    Attributes:
        words: the word of every id.
        lookup: the ids of words in UTF-8. The specials are not in it: text may hold
            a word that is spelt like one, which makes it no boundary.

    Raises:
        ValueError: the specials are missing, or a word is empty, repeated, or
            contains a line end; names the word's line.
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

        Words of equal count are in the order of their characters, so the same text
        gives the same vocabulary however it is cut into files.

        The counts are exact unless more than `max_distinct` words are met. The rarest
        are then dropped on the way; a count may be too low by `report.max_count_error`,
        never too high, and depends on the order of the text. The vocabulary still has
        every word that occurs more often than its last one by more than that. It has
        the same words as with exact counts where the last word kept and the next one
        are further apart than that.

        Args:
            files: a path or a glob pattern, or several; see `expand_files`.
            tokenizer: the kind of `Tokenizer`.
            max_size: keep that many words at most, the three specials included.
            min_count: leave rarer words out.
            progress: show a bar with words/s on stderr.
            report: counts what is read, and what is dropped.
            max_distinct: words held at a time, at least twice `max_size`; see
                `WordCounts` for their memory.

        Raises:
            ValueError: no file matches, a file is damaged, or there is no word.
        """
        check_sizes(max_size, min_count)
        # Half of them may have just been dropped when the text ends.
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
        """Chooses among words that are counted; the arguments are those of `count`.

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
    def load(cls, path: str | os.PathLike[str]) -> "Vocabulary":
        """Reads a file of one word a line.

        Raises:
            ValueError: a line is not what it must be; names the file and the line.
        """
        try:
            if os.path.exists(path) and not os.path.isfile(path):
                # A pipe would be waited for.
                raise ValueError("must be a file")
            with open(path, "rb") as file:
                return cls(_words(file))
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file of one word a line; a file of that name is replaced."""
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
        """Returns what tells this vocabulary from any other."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.words)


def check_sizes(max_size: int | None, min_count: int) -> None:
    """Makes sure that there is room for a word.

    Raises:
        ValueError: there is none, or every word is to occur less than once.
    """
    if max_size is not None and max_size <= len(SPECIALS):
        raise ValueError(
            f"`max_size` must be more than the {len(SPECIALS)} specials. "
            f"Received: max_size={max_size}"
        )
    if min_count < 1:
        raise ValueError(
            f"`min_count` must be at least 1. Received: min_count={min_count}"
        )


def _words(file: BinaryIO) -> Iterator[str]:
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
