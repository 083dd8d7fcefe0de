"""How often each word occurs, in memory that has a bound."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence

from keras_elmo.progress import Progress
from keras_elmo.text.lines import read_lines
from keras_elmo.text.report import Report
from keras_elmo.text.token_chunks import TOKENIZER_THREADS, token_chunks


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

    def __init__(self, max_distinct: int, report: Report) -> None:
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
