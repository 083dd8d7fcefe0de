"""Parts of a text, each with a dictionary of its own, and how they become one text.

The sorted list of a part's own words numbers them. When all parts are there, the lists
are merged, so that memory holds a few numbers for each distinct word, and no word.
"""

import heapq
import os
import zlib
from array import array
from collections import defaultdict
from collections.abc import Iterator
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
from keras_elmo.utils.files import check_free, file_hash, replacing, write_json

_NUMBERS, _LINES = "numbers.npy", "lines.npy"
# The `LINE`, with the number of its file and a checksum of its text.
_PART_LINE = np.dtype([*LINE.descr, ("file", "<u4"), ("check", "<u4")])
# Beside the parts: the words of all of them.
_SORTED_WORDS = "sorted-words.txt"


class Part:
    """Some lines that follow each other."""

    def __init__(self) -> None:
        self._numbers: defaultdict[bytes, int] = defaultdict()
        # A new word gets the next number.
        self._numbers.default_factory = self._numbers.__len__
        self._words = array("I")
        self._lines: list[tuple[int, ...]] = []

    @property
    def num_words(self) -> int:
        return len(self._words)

    @property
    def num_lines(self) -> int:
        return len(self._lines)

    def add(self, line: SourceLine, tokens: list[bytes]) -> None:
        """Adds a line with its tokens."""
        self._words.extend(map(self._numbers.__getitem__, tokens))
        size = len(line.text)
        self._lines.append((self.num_words, size, line.position, *_origin(line)))

    def write(self, path: str) -> None:
        """Writes a folder, all of it or nothing."""
        words = sorted(self._numbers)
        places = _inverse(np.fromiter(map(self._numbers.get, words), WORD_TYPE))
        with replacing(path) as temporary:
            os.makedirs(temporary)
            write_words(os.path.join(temporary, WORDS), words)
            numbers = places[np.asarray(self._words)]
            write_array(os.path.join(temporary, _NUMBERS), numbers)
            lines = np.array(self._lines, _PART_LINE)
            write_array(os.path.join(temporary, _LINES), lines)


def _origin(line: SourceLine) -> tuple[int, int]:
    return line.file, zlib.crc32(line.text.encode())


def check_part(path: str, lines: Iterator[SourceLine], parts: str) -> SourceLine:
    """Reads the lines of a part again; returns the last, if all are the same."""
    before = map_array(os.path.join(path, _LINES), _PART_LINE)[["file", "check"]]
    now = list(islice(lines, len(before)))
    if list(map(_origin, now)) != before.tolist():
        raise ValueError(
            f"the text is not what it was when {path} was made from it; remove {parts} "
            "to begin again"
        )
    return now[-1]


def join_parts(
    parts: list[str],
    out: str,
    text: NamesAndSizes,
    tokenizer: str,
    stats: CorpusStats,
) -> None:
    """Writes a folder for `PreparedText` from the folders of parts, in order.

    `text` has the name and the size of each file. The parts stay.
    """
    beside = os.path.dirname(parts[0])
    joined = os.path.join(beside, "prepared")
    with replacing(joined) as folder:
        os.makedirs(folder)
        sorted_words = os.path.join(beside, _SORTED_WORDS)
        ranks = _merge(parts, sorted_words)
        words = DistinctWords(sorted_words)
        counts = np.zeros(len(words), COUNT_TYPE)
        for part, rank in zip(parts, ranks, strict=True):
            numbers = map_array(os.path.join(part, _NUMBERS), WORD_TYPE)
            counts[rank] += np.bincount(numbers, minlength=len(rank))
        # Words of equal count stay sorted.
        order = np.argsort(-counts, kind="stable")
        write_words(os.path.join(folder, WORDS), (words[number] for number in order))
        write_array(os.path.join(folder, COUNTS), counts[order])
        stats.words += int(counts.sum())
        stats.truncated_words += int(counts[words.num_bytes() > MAX_BYTES].sum())
        number_of, shards = _inverse(order), []
        num_lines = np.zeros(len(text), "int64")
        for number, (part, rank) in enumerate(zip(parts, ranks, strict=True)):
            lines = _write_shard(folder, number, part, number_of[rank])
            shards.append([len(lines), int(lines["end"][-1])])
            num_lines += np.bincount(lines["file"], minlength=len(text))
        files = {name: os.path.join(folder, name) for name in data_files(len(parts))}
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
                for name, path in files.items()
            },
        }
        write_json(os.path.join(folder, MANIFEST), manifest)
    check_free(out)
    os.replace(joined, out)


def _merge(parts: list[str], out: str) -> list[np.ndarray]:
    """Writes the sorted words of all parts; returns where each part's words stand."""
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


def _write_shard(
    folder: str, number: int, part: str, number_of: np.ndarray
) -> np.ndarray:
    """Writes a part with the numbers that its words get; returns its lines."""
    words_file, lines_file = shard_files(number)
    words = map_array(os.path.join(part, _NUMBERS), WORD_TYPE)
    write_array(os.path.join(folder, words_file), number_of[words])
    lines = map_array(os.path.join(part, _LINES), _PART_LINE)
    fields = lines[list(LINE.names or ())].astype(LINE)
    write_array(os.path.join(folder, lines_file), fields)
    return lines


def _inverse(order: np.ndarray) -> np.ndarray:
    """Returns where each number stands in a permutation."""
    places = np.empty(len(order), WORD_TYPE)
    places[order] = np.arange(len(order), dtype=WORD_TYPE)
    return places
