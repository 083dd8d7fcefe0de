"""Parts of a text, each with a dictionary of its own, and how they become one text.

The words of a part are numbered by the sorted list of its own words. When all parts are
there, the lists are merged, so that memory holds a few numbers for each distinct word,
and none of the words.
"""

import heapq
import os
import zlib
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, repeat

import numpy as np

from keras_elmo.config import MAX_BYTES
from keras_elmo.text.line_sources import NamesAndSizes, SourceLine
from keras_elmo.text.lines import MANIFEST
from keras_elmo.text.prepared import (
    CHANGES,
    COUNT_TYPE,
    COUNTS,
    FORMAT,
    LINE,
    VERSION,
    WORD_TYPE,
    WORDS,
    DistinctWords,
    data_files,
    read_words,
    shard_files,
    write_words,
)
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.arrays import map_array, write_array
from keras_elmo.utils.files import file_hash, remove_leftovers, replacing, write_json

# The words of all parts.
SORTED_WORDS = "sorted-words.txt"
_NUMBERS, _LINES, _SOURCE = "numbers.npy", "lines.npy", "source.npy"
# The file of a line, and a checksum of its text.
_SOURCE_LINE = np.dtype([("file", "<u4"), ("check", "<u4")])


class Part:
    """Some lines that follow each other."""

    def __init__(self) -> None:
        self._numbers: defaultdict[bytes, int] = defaultdict()
        # A new word gets the next number.
        self._numbers.default_factory = self._numbers.__len__
        self._words = array("I")
        self._lines: list[tuple[int, int, int]] = []
        self._source: list[tuple[int, int]] = []

    @property
    def num_words(self) -> int:
        return len(self._words)

    @property
    def num_lines(self) -> int:
        return len(self._lines)

    def add(self, line: SourceLine, tokens: list[bytes]) -> None:
        """Adds a line with its tokens."""
        self._words.extend(map(self._numbers.__getitem__, tokens))
        self._lines.append((self.num_words, len(line.text), line.position))
        self._source.append(_source(line))

    def write(self, path: str) -> None:
        """Writes a folder, all of it or nothing."""
        words = list(self._numbers)
        order = sorted(range(len(words)), key=words.__getitem__)
        numbers = _inverse(order)[np.asarray(self._words)]
        with replacing(path) as temporary:
            os.makedirs(temporary)
            write_words(os.path.join(temporary, WORDS), map(words.__getitem__, order))
            for name, values in {
                COUNTS: np.bincount(numbers, minlength=len(words)).astype(COUNT_TYPE),
                _NUMBERS: numbers,
                _LINES: np.array(self._lines, LINE),
                _SOURCE: np.array(self._source, _SOURCE_LINE),
            }.items():
                write_array(os.path.join(temporary, name), values)


def _source(line: SourceLine) -> tuple[int, int]:
    return line.file, zlib.crc32(line.text.encode())


def check_part(path: str, lines: Iterator[SourceLine], parts: str) -> SourceLine:
    """Reads the lines of a part again; returns the last, if all are the same."""
    before = map_array(os.path.join(path, _SOURCE), _SOURCE_LINE)
    now = list(islice(lines, len(before)))
    if not np.array_equal(np.array(list(map(_source, now)), _SOURCE_LINE), before):
        raise ValueError(
            f"the text is not what it was when {path} was made of it; remove {parts} "
            "to begin again"
        )
    return now[-1]


def join_parts(
    parts: list[str],
    folder: str,
    text: NamesAndSizes,
    tokenizer: str,
    stats: CorpusStats,
) -> None:
    """Writes a folder as `PreparedText` reads it, of the folders of parts in order.

    Shards that are there already are kept; the numbers of parts are removed as they
    become shards. `text` has the name and the size of each file.
    """
    os.makedirs(folder, exist_ok=True)
    remove_leftovers(folder)
    sorted_words = os.path.join(os.path.dirname(folder), SORTED_WORDS)
    ranks = _merge(parts, sorted_words)
    words = DistinctWords(sorted_words)
    counts = np.zeros(len(words), COUNT_TYPE)
    for part, rank in zip(parts, ranks, strict=True):
        counts[rank] += map_array(os.path.join(part, COUNTS), COUNT_TYPE)
    # Words of equal count stay sorted.
    order = np.argsort(-counts, kind="stable")
    write_words(os.path.join(folder, WORDS), (words[number] for number in order))
    _save(os.path.join(folder, COUNTS), counts[order])
    number_of = _inverse(order)
    shards = []
    num_lines = np.zeros(len(text), "int64")
    for number, (part, rank) in enumerate(zip(parts, ranks, strict=True)):
        words_file, lines_file = shard_files(number)
        lines = map_array(os.path.join(part, _LINES), LINE)
        _save(os.path.join(folder, lines_file), lines)
        numbers, shard = os.path.join(part, _NUMBERS), os.path.join(folder, words_file)
        if not os.path.exists(shard):
            _save(shard, number_of[rank][map_array(numbers, WORD_TYPE)])
        if os.path.exists(numbers):
            os.remove(numbers)
        shards.append([len(lines), int(lines["end"][-1])])
        source_lines = map_array(os.path.join(part, _SOURCE), _SOURCE_LINE)
        num_lines += np.bincount(source_lines["file"], minlength=len(num_lines))
    stats.words += int(counts.sum())
    stats.truncated_words += int(counts[words.num_bytes() > MAX_BYTES].sum())
    paths = {name: os.path.join(folder, name) for name in data_files(len(parts))}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "tokenizer": tokenizer,
        "words": stats.words,
        "stats": {name: getattr(stats, name) for name in CHANGES},
        "text": [
            [name, size, lines]
            for (name, size), lines in zip(text, num_lines.tolist(), strict=True)
        ],
        "shards": shards,
        "files": {
            name: [os.path.getsize(path), file_hash(path)]
            for name, path in paths.items()
        },
    }
    write_json(os.path.join(folder, MANIFEST), manifest)


def _merge(parts: list[str], out: str) -> list[np.ndarray]:
    """Writes the sorted words of all parts; returns the places there of each part's."""
    ranks = [array("I") for _ in parts]
    streams = [
        zip(read_words(os.path.join(part, WORDS)), repeat(number), strict=False)
        for number, part in enumerate(parts)
    ]

    def distinct() -> Iterator[bytes]:
        rank, before = -1, None
        for word, number in heapq.merge(*streams):
            if word != before:
                yield word
                rank, before = rank + 1, word
            ranks[number].append(rank)

    write_words(out, distinct())
    return list(map(np.asarray, ranks))


def _inverse(order: Sequence[int] | np.ndarray) -> np.ndarray:
    """Returns where each number stands in a permutation."""
    places = np.empty(len(order), WORD_TYPE)
    places[order] = np.arange(len(order), dtype=WORD_TYPE)
    return places


def _save(path: str, values: np.ndarray) -> None:
    with replacing(path) as temporary:
        write_array(temporary, values)
