"""Counts of what was read."""

import dataclasses
from collections.abc import Mapping

from keras_elmo.config import MAX_BYTES, ElmoConfig
from keras_elmo.utils.checks import counted


@dataclasses.dataclass
class CorpusStats:
    """Counts of what was read and of what had to be changed.

    Attributes:
        lines: lines that are not blank.
        invalid_lines: lines with invalid UTF-8, replaced by U+FFFD.
        lines_with_nul: lines with NUL bytes, replaced by spaces.
        used_lines: lines cut into words; shuffling reads more lines ahead.
        split_lines: used lines with more words than a row holds.
        words: tokens, without sentence boundaries.
        truncated_words: words with more bytes than the model reads.
        sentences: rows of all batches.
        batched_words: words of all batches.
        unknown_words: words of all batches that are not in the vocabulary.
        dropped_words: words dropped while counting: there were too many distinct ones.
        max_count_error: upper bound on how far the count of a word may be too low.
        positions: elements of `token_ids` of all batches.
        padding_positions: masked elements of `token_ids` of all batches.
    """

    lines: int = 0
    invalid_lines: int = 0
    lines_with_nul: int = 0
    used_lines: int = 0
    split_lines: int = 0
    words: int = 0
    truncated_words: int = 0
    sentences: int = 0
    batched_words: int = 0
    unknown_words: int = 0
    dropped_words: int = 0
    max_count_error: int = 0
    positions: int = 0
    padding_positions: int = 0

    def add(self, counts: Mapping[str, int]) -> None:
        """Adds to the counts of these names."""
        for name, count in counts.items():
            setattr(self, name, getattr(self, name) + count)

    def messages(self, config: ElmoConfig | None = None) -> list[str]:
        """Returns a sentence for each change that the user should know of.

        `config` describes the model that read the words, if it is known.
        """
        by_bytes = config is None or config.token_vocabulary is None
        split = f"{counted(self.split_lines, 'line')} of {self.used_lines:,}"
        truncated = _percent(self.truncated_words, self.words)
        unknown = _percent(self.unknown_words, self.batched_words)
        dropped = _percent(self.dropped_words, self.words)
        messages = {
            f"{self.invalid_lines:,} of {counted(self.lines, 'line')} held invalid "
            "UTF-8; the bad bytes were replaced by U+FFFD": self.invalid_lines,
            f"{counted(self.lines_with_nul, 'line')} held NUL bytes, which were taken "
            "for spaces": self.lines_with_nul,
            f"{split} had more words than a row holds and became several "
            "rows": self.split_lines,
            f"{truncated} of words are longer than {MAX_BYTES} bytes and are "
            "truncated": self.truncated_words * by_bytes,
            f"{unknown} of words are not in the vocabulary": self.unknown_words,
            f"{dropped} of words were dropped while counting, the rarest of too many "
            "distinct ones; a word's count may be too low by "
            f"{self.max_count_error:,}": self.dropped_words,
        }
        return [message for message, count in messages.items() if count]


def _percent(part: int, whole: int) -> str:
    percent = 100 * part / max(whole, 1)
    if percent < 0.01:
        return "less than 0.01 %"
    return f"{percent:.2g} %" if percent < 10 else f"{percent:.0f} %"
