"""The words that a language model predicts, and their ids."""

import contextlib
import hashlib
import itertools
import os
import reprlib
from collections.abc import Iterable, Mapping, Sequence

from keras_elmo.config import TOKENIZERS
from keras_elmo.text.lines import Files, expand_files, prepared_folder, read_words
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.word_counts import WordCounts
from keras_elmo.utils.checks import (
    called,
    check_at_least,
    check_boolean,
    check_choice,
    check_path,
    check_type,
    is_integer,
    received,
    refuse,
)
from keras_elmo.utils.files import replacing_text
from keras_elmo.utils.types import StrPath

START, END, UNKNOWN = 0, 1, 2
# The target id of a padded position.
PADDING_ID = -1
SPECIALS = ("<S>", "</S>", "<UNK>")
# What an error begins with, unless the words are from a file.
_WORDS = "`words`: "
_SPECIAL_WORDS = frozenset(special.encode() for special in SPECIALS)


class Vocabulary:
    """The target ids of a language model: special words, then words by frequency.

    The ids of `<S>`, `</S>` and `<UNK>` are 0, 1 and 2. A file has one word per line,
    as the published models' vocabularies. Counts are in a file beside it, one line for
    each word: vocabulary.counts.txt beside vocabulary.txt.

    Args:
        words: the three special words, then distinct words, the most frequent first.
        counts: how often each word occurs in the text, if that is known; `<UNK>` counts
            all other words, `<S>` and `</S>` count 0.

    Attributes:
        words: the word of every id.
        counts: the argument, which `substitutes` and `score` read.
        lookup: the id of each word in UTF-8, without the special words: a word in a
            text that is spelt like one is an unknown word.

    Raises:
        ValueError: the special words are missing, or a word is empty, repeated, or
            contains a line end or a NUL; names the line. Or the number of counts
            differs from the number of words.

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

    def __init__(
        self, words: Iterable[str], counts: Sequence[int] | None = None
    ) -> None:
        check_type(Iterable, "a list of words", words=words)
        check_type((Sequence, type(None)), "a list of numbers or None", counts=counts)
        self.words = list(words)
        self.counts = counts
        if not all(isinstance(word, str) for word in self.words):
            refuse("words", "a list of words", self.words)
        if tuple(self.words[:3]) != SPECIALS:
            hint = ""
            if set(self.words[:3]) == set(SPECIALS):
                # bilm-tf takes them in any order, and its own begins with </S>.
                hint = " in this order; `keras-elmo import --checkpoint` reads others"
            raise _wrong(
                f"lines 1 to 3 must be {', '.join(SPECIALS)}{hint}. "
                f"Received: {', '.join(word[:20] for word in self.words[:3])}"
            )
        self.lookup: dict[bytes, int] = {}
        for token_id, word in enumerate(self.words[3:], 3):
            if not word or not {"\n", "\r", "\0"}.isdisjoint(word):
                raise _wrong(
                    f"line {token_id + 1} must be a word without line ends and NULs. "
                    f"Received: {reprlib.repr(word)}"
                )
            if self.lookup.setdefault(word.encode(), token_id) != token_id:
                first = self.lookup[word.encode()] + 1
                raise _wrong(
                    f"line {token_id + 1} repeats line {first}: {reprlib.repr(word)}"
                )
            if word in SPECIALS:
                raise _wrong(f"line {token_id + 1} repeats a special: {word!r}")
        if counts is not None and len(counts) != len(self.words):
            raise ValueError(
                "`counts` must hold a number for each word. "
                f"Received: {len(counts)} for {len(self.words)} words"
            )

    @classmethod
    def count(
        cls,
        files: Files,
        tokenizer: str | None = None,
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
        depends on the order of the text. The vocabulary still has every word that
        occurs more often than its last word by more than that error.

        Args:
            files: a path or a glob pattern, or several; see `expand_files`. Or a folder
                that `prepare` wrote, whose counts are exact.
            tokenizer: the kind of `Tokenizer`; if `None`, the folder's or "unicode".
            max_size: greatest number of words, the three special ones included.
            min_count: how often a word has to occur; from 2 on, a model meets unknown
                words, too.
            progress: whether to show a bar with words/s on stderr.
            report: counts what is read and dropped.
            max_distinct: greatest number of distinct words in memory, at least twice
                `max_size`; 20 million take 2.1 GB.

        Raises:
            ValueError: no file matches, a file is damaged, or there is no word.
        """
        check_choice((*TOKENIZERS, None), tokenizer=tokenizer)
        check_sizes(max_size, min_count)
        check_boolean(progress=progress)
        check_type((CorpusStats, type(None)), "CorpusStats or None", report=report)
        # At the end of the text half the words may have just been dropped.
        least = 2 * (len(SPECIALS) + 1 if max_size is None else max_size)
        if not is_integer(max_distinct) or max_distinct < least:
            raise ValueError(
                f"{called('max_distinct')} must be at least {least}, twice the size of "
                "the vocabulary. "
                + received(max_distinct=max_distinct, max_size=max_size)
            )
        report = CorpusStats() if report is None else report
        paths = [folder] if (folder := prepared_folder(files)) else expand_files(files)
        if folder:
            # It takes NumPy, which --help does not.
            from keras_elmo.text.prepared import PreparedText

            text = PreparedText(folder, tokenizer)
            counts = text.counts(max_size, report)
            others = text.num_words - counts.total()
        else:
            before = report.dropped_words
            word_counts = WordCounts(max_distinct, report)
            word_counts.read(paths, tokenizer or "unicode", progress)
            counts = word_counts.counts
            others = report.dropped_words - before
        if not counts.keys() - _SPECIAL_WORDS:
            raise ValueError(f"there is no word in {', '.join(paths)}")
        # Words that were left out are unknown, too.
        counts[SPECIALS[UNKNOWN].encode()] += others
        return cls.from_counts(counts, max_size, min_count)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[bytes, int],
        max_size: int | None = None,
        min_count: int = 1,
    ) -> "Vocabulary":
        """Makes a vocabulary of counted words; takes the arguments of `count`.

        Raises:
            ValueError: no word is left.
        """
        check_sizes(max_size, min_count)
        check_type(Mapping, "a dictionary", counts=counts)
        words = counts.keys() - _SPECIAL_WORDS
        # UTF-8 sorts as its characters do, and words of equal count stay in order.
        kept = sorted(word for word in words if counts[word] >= min_count)
        kept.sort(key=counts.__getitem__, reverse=True)
        if not kept:
            raise ValueError(
                "`min_count` must leave a word; the greatest count is "
                f"{max((counts[word] for word in words), default=0)}. "
                f"Received: min_count={min_count}"
            )
        if max_size is not None:
            del kept[max_size - len(SPECIALS) :]
        of_kept = [counts[word] for word in kept]
        unknown = sum(counts.values()) - sum(of_kept)
        return cls(
            [*SPECIALS, *(word.decode() for word in kept)], [0, 0, unknown, *of_kept]
        )

    @classmethod
    def load(cls, path: StrPath) -> "Vocabulary":
        """Reads a file of one word per line, and the counts beside it if there are any.

        Raises:
            ValueError: a line is not what it must be; names the file and the line.
        """
        check_path(path=path)
        try:
            vocabulary = cls(read_words(path))
        except ValueError as error:
            message = str(error).removeprefix(_WORDS)
            raise ValueError(f"{os.fspath(path)}: {message}") from error
        counts = counts_file(path)
        if os.path.exists(counts):
            vocabulary.counts = _read_counts(counts, len(vocabulary))
        return vocabulary

    def save(self, path: StrPath) -> None:
        """Writes a file of one word per line, and a file of the counts if known.

        Replaces files of these names. Whatever happens meanwhile, a new file of words
        does not lack its counts, and no words stand beside the counts of other words.
        """
        check_path(path=path)
        is_new = not os.path.exists(path)
        with replacing_text(path) as file:
            file.writelines(f"{word}\n" for word in self.words)
            with contextlib.suppress(FileNotFoundError):
                os.remove(counts_file(path))
            if is_new:
                self._save_counts(path)
        if not is_new:
            self._save_counts(path)

    def _save_counts(self, path: StrPath) -> None:
        if self.counts is not None:
            with replacing_text(counts_file(path)) as file:
                file.writelines(f"{count}\n" for count in self.counts)

    def ids(self, tokens: Iterable[str | bytes]) -> list[int]:
        """Returns the id of each token; unknown ones have the id of `<UNK>`."""
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

    def __repr__(self) -> str:
        return f"Vocabulary({len(self):,} words)"


def _wrong(message: str) -> ValueError:
    return ValueError(_WORDS + message)


def check_sizes(max_size: int | None, min_count: int) -> None:
    """Raises a `ValueError` unless these sizes leave room for a word."""
    if max_size is not None and not (is_integer(max_size) and max_size > len(SPECIALS)):
        refuse("max_size", f"more than the {len(SPECIALS)} specials", max_size)
    check_at_least(1, min_count=min_count)


def counts_file(path: StrPath) -> str:
    """Names the file of the counts beside a file of words."""
    return f"{os.path.splitext(path)[0]}.counts.txt"


def _read_counts(path: str, size: int) -> list[int]:
    try:
        lines = list(itertools.islice(read_words(path), size + 1))
        if len(lines) != size:
            raise ValueError(f"must have {size:,} lines, one per word; or remove it")
        for number, line in enumerate(lines, start=1):
            if not (line.isascii() and line.isdigit() and len(line) < 20):
                received = reprlib.repr(line)
                raise ValueError(
                    f"line {number} must be a number. Received: {received}"
                )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return list(map(int, lines))
