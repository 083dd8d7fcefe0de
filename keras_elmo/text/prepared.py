"""Reads the folder of a text that was tokenized once, through memory maps.

    manifest.json           what the other files hold, their sizes and hashes
    words.txt               the distinct words, one per line, the most frequent first;
                            words of equal count are sorted by their bytes
    counts.npy              how often each occurs
    shard-00000.words.npy   the words of some lines, as line numbers in words.txt
    shard-00000.lines.npy   a `LINE` for each of these lines

It takes the standard library and NumPy, no Keras and no TensorFlow.
"""

import functools
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from keras_elmo.config import TOKENIZERS
from keras_elmo.text.lines import MANIFEST
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.arrays import map_array
from keras_elmo.utils.checks import is_integer, refuse
from keras_elmo.utils.files import file_hash, read_json_object, read_key, replacing
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import StrPath

FORMAT = "keras_elmo prepared text"
VERSION = 1
WORDS = "words.txt"
COUNTS = "counts.npy"
WORD_TYPE = np.dtype("<u4")
COUNT_TYPE = np.dtype("<i8")
# Where a line ends among the words of its shard; how many characters it has, and how
# many bytes of its file come before it, which decide the order of a shuffled text.
LINE = np.dtype([("end", "<u4"), ("characters", "<u4"), ("position", "<u8")])

# Fields of `CorpusStats` that count what had to be changed.
CHANGES = ("invalid_lines", "lines_with_nul", "truncated_words")

# Shards that are mapped at a time: each takes two of the process's open files.
_MAPPED_SHARDS = 64
_READ_BYTES = 1 << 16


class DistinctWords:
    """The words of a file, mapped into memory; each takes 8 bytes beside the map."""

    def __init__(self, path: str) -> None:
        self._path = path
        with reading(path):
            self._bytes = np.asarray(np.memmap(path, "uint8", mode="r"))
        self._ends = np.flatnonzero(self._bytes == ord("\n"))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: int) -> bytes:
        start = self._ends[number - 1] + 1 if number else 0
        return self._bytes[start : self._ends[number]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        return read_words(self._path)

    def num_bytes(self) -> np.ndarray:
        """Returns the number of bytes of each word."""
        return np.diff(self._ends, prepend=-1) - 1


def read_words(path: str) -> Iterator[bytes]:
    """Yields the words of a file, which is open only while a block of it is read.

    So a process can read more files at a time than it may have open.
    """
    position = 0
    while True:
        with open(path, "rb") as file:
            file.seek(position)
            lines = file.readlines(_READ_BYTES)
            position = file.tell()
        if not lines:
            return
        yield from (line.removesuffix(b"\n") for line in lines)


def write_words(path: str, words: Iterable[bytes]) -> None:
    """Writes a file of words, which hold no line end."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.writelines(word + b"\n" for word in words)


class TextFile(NamedTuple):
    """A file that was prepared; `num_lines` are those that are not blank."""

    name: str
    size: int
    num_lines: int


class Line(NamedTuple):
    """A line of a prepared text: some of the words of a shard."""

    shard: int
    start: int
    end: int
    characters: int


def shard_files(number: int) -> tuple[str, str]:
    """Returns the names of the words and the lines of a shard."""
    return f"shard-{number:05}.words.npy", f"shard-{number:05}.lines.npy"


def data_files(num_shards: int) -> list[str]:
    """Returns the names of all files but the manifest."""
    shards = map(shard_files, range(num_shards))
    return [WORDS, COUNTS, *chain.from_iterable(shards)]


class PreparedText:
    """A folder that `prepare` wrote; `ValueError` if another `tokenizer` split it.

    `files` are the `TextFile`s that the text was, in order; `words` the distinct words,
    the most frequent first.
    """

    def __init__(self, path: StrPath, tokenizer: str | None = None) -> None:
        self.path = os.fspath(path)
        self._where = os.path.join(self.path, MANIFEST)
        self._manifest = manifest = read_json_object(self._where)
        if manifest.get("format") != FORMAT:
            raise ValueError(
                f"{self._where}: must be the manifest of a text that `keras-elmo "
                f"prepare` wrote, of the format {FORMAT!r}. "
                f"Received: format={manifest.get('format')!r}"
            )
        if (version := self._number("version")) != VERSION:
            raise ValueError(
                f"{self._where}: the version must be {VERSION}; another keras_elmo "
                f"wrote it. Received: version={version}"
            )
        self.tokenizer = self._read("tokenizer")
        if self.tokenizer not in TOKENIZERS:
            rule = f"one of {', '.join(TOKENIZERS)}"
            self._refuse("tokenizer", rule, self.tokenizer)
        if tokenizer not in (None, self.tokenizer):
            rule = f"{self.tokenizer!r}, with which {self.path} was prepared"
            refuse("tokenizer", rule, tokenizer)
        self.files = [TextFile(*row) for row in self._rows([str, int, int], "text")]
        shards = self._rows([int, int], "shards")
        self.num_words = self._number("words")
        num_lines = [num_lines for num_lines, _ in shards]
        if sum(num_lines) != sum(file.num_lines for file in self.files):
            self._refuse("shards", "of the lines of the text", "others")
        self._num_words = [num_words for _, num_words in shards]
        # The number of each shard's first line, and of the line after the last one.
        self._limits = np.cumsum([0, *num_lines])
        self._check_sizes()
        self._checked: set[str] = set()
        self._shard = functools.lru_cache(_MAPPED_SHARDS)(self._open_shard)
        self._check_hash(WORDS)
        self.words = DistinctWords(os.path.join(self.path, WORDS))
        self._counts = self._array(COUNTS, COUNT_TYPE, len(self.words))
        if not sum(self._num_words) == self.num_words == self._counts.sum():
            self._refuse("words", "the number of words in all shards", self.num_words)

    @property
    def num_lines(self) -> int:
        """The number of lines that are not blank."""
        return int(self._limits[-1])

    def names_and_sizes(self) -> list[list[object]]:
        """Returns the name and the bytes of each file that was prepared."""
        return [[file.name, file.size] for file in self.files]

    def counts(self, most: int | None, stats: CorpusStats) -> Counter[bytes]:
        """Returns the counts of the `most` frequent words, of all if it is `None`.

        `stats` counts the lines and words.
        """
        stats.add({"lines": self.num_lines, "words": self.num_words})
        self.count_changes(stats, *CHANGES)
        counts = self._counts[:most].tolist()
        return Counter(dict(zip(self.words, counts, strict=False)))

    def count_changes(self, stats: CorpusStats, *names: str) -> None:
        """Adds to fields what was changed in the text when it was prepared."""
        stats.add({name: self._number("stats", name) for name in names})

    def lines(self, start: int, stop: int, step: int = 1) -> Iterator[tuple[Line, int]]:
        """Yields the lines of some numbers, and their positions in their file."""
        for shard, (first, end) in enumerate(pairwise(self._limits.tolist())):
            begin = max(start - first, (start - first) % step)
            if numbers := range(begin, min(stop, end) - first, step):
                _, lines = self._shard(shard)
                ends, sizes, positions = (
                    lines[name].item for name in LINE.fields or ()
                )
            for number in numbers:
                # A line begins where the one before it ends.
                before = ends(number - 1) if number else 0
                line = Line(shard, before, ends(number), sizes(number))
                yield line, positions(number)

    def read_line(self, line: Line) -> np.ndarray:
        """Returns the words of a line, as numbers of distinct words."""
        words, _ = self._shard(line.shard)
        return words[line.start : line.end]

    def _open_shard(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        words_file, lines_file = shard_files(number)
        num_lines = int(self._limits[number + 1] - self._limits[number])
        lines = self._array(lines_file, LINE, num_lines)
        words = self._array(words_file, WORD_TYPE, self._num_words[number])
        ends = lines["end"]
        if (ends[1:] < ends[:-1]).any() or ends[-1] != len(words):
            raise ValueError(
                f"{os.path.join(self.path, lines_file)}: the ends of lines must rise "
                f"to {len(words):,}, the words of the shard"
            )
        if len(words) and words.max() >= len(self.words):
            raise ValueError(
                f"{os.path.join(self.path, words_file)}: must hold numbers below "
                f"{len(self.words):,}, the number of distinct words"
            )
        return words, lines

    def _array(self, name: str, dtype: np.dtype, length: int) -> np.ndarray:
        self._check_hash(name)
        path = os.path.join(self.path, name)
        array = map_array(path, dtype)
        if len(array) != length:
            raise ValueError(
                f"{path}: must hold {length:,} numbers. Received: {len(array):,}"
            )
        # Slices of a plain array take a fifth of the time.
        return np.asarray(array)

    def _check_hash(self, name: str) -> None:
        """Reads a file whole when it is first opened, and compares its hash."""
        if name in self._checked:
            return
        path = os.path.join(self.path, name)
        if file_hash(path) != self._manifest["files"][name][1]:
            raise ValueError(
                f"{path}: is damaged; its SHA-256 must be the one in {self._where}"
            )
        self._checked.add(name)

    def _check_sizes(self) -> None:
        for name in data_files(len(self._num_words)):
            path = os.path.join(self.path, name)
            ((size, _),) = self._rows([int, str], "files", name)
            # Opening a pipe would block.
            if not os.path.isfile(path):
                raise ValueError(f"{path}: is missing; {self._where} names it")
            if (received := os.path.getsize(path)) != size:
                raise ValueError(
                    f"{path}: must have {size:,} bytes, as {self._where} says. "
                    f"Received: {received:,}"
                )

    def _read(self, *keys: str) -> Any:
        return read_key(self._manifest, self._where, *keys)

    def _rows(self, kinds: list[type], *keys: str) -> list[list[Any]]:
        """Returns a list of rows that is not empty, or the row of a file."""
        rows, key = self._read(*keys), ".".join(keys)
        if keys[0] == "files":
            rows = [rows]
        if not isinstance(rows, list) or not rows:
            self._refuse(key, "a list of rows", rows)
        for row in rows:
            if not (
                isinstance(row, list)
                and list(map(type, row)) == kinds
                and all(value >= 0 for value in row if is_integer(value))
            ):
                names = ", ".join(kind.__name__ for kind in kinds)
                self._refuse(key, f"rows of {names}", row)
        return rows

    def _number(self, *keys: str) -> int:
        value = self._read(*keys)
        if not (is_integer(value) and value >= 0):
            self._refuse(".".join(keys), "an integer and at least 0", value)
        return int(value)

    def _refuse(self, key: str, rule: str, value: object) -> None:
        shown = f"{value!r}"[:50]
        raise ValueError(f"{self._where}: {key} must be {rule}. Received: {shown}")
