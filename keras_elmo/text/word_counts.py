"""Counts the words of a text of any size."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from keras_elmo.text.batching import TOKENIZER_THREADS, token_chunks
from keras_elmo.text.lines import positioned_lines
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.progress import Progress


class WordCounts:
    """Counts words in bounded memory, by lossy counting.

    When there are more than `max_distinct` words, the rarest are dropped until half the
    room is free. A dropped word that occurs again is counted anew. So no count is too
    high, and none is too low by more than `stats.max_count_error`, which also bounds
    how often a dropped word occurs. A word of up to 15 bytes takes 100 to 160 bytes at
    the peak; 20 million took 2.1 GB.

    Reference: Manku and Motwani 2002, Approximate Frequency Counts over Data Streams;
    there the error is chosen and the memory follows.
    """

    def __init__(self, max_distinct: int, stats: CorpusStats) -> None:
        self.counts: Counter[bytes] = Counter()
        self._max_distinct = max_distinct
        self._stats = stats

    def read(self, paths: Sequence[str], tokenizer: str, progress: bool) -> None:
        """Counts the words of text files, with or without a progress bar on stderr."""
        *starts, size = accumulate(map(os.path.getsize, paths), initial=0)
        lines = (
            (start + position, line)
            for path, start in zip(paths, starts, strict=True)
            for position, line in positioned_lines(path, self._stats)
        )
        chunks = token_chunks(lines, tokenizer, self._stats, TOKENIZER_THREADS)
        with Progress("Counting words", size, visible=progress) as bar:
            for chunk in chunks:
                words = [token for _, tokens in chunk for token in tokens]
                self.update(words)
                bar.update(len(words), position=chunk[-1][0])
            bar.update(0, position=size)

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
