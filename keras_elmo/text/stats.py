"""What was met while text was read."""

import dataclasses

from keras_elmo.text.character_ids import MAX_BYTES


@dataclasses.dataclass
class CorpusStats:
    """Counts of what was read and of what had to be changed.

    Attributes:
        lines: lines that are not blank.
        invalid_lines: lines with bytes that are not UTF-8, replaced by U+FFFD.
        lines_with_nul: lines with NUL bytes, taken for spaces.
        used_lines: lines cut into words; a shuffle reads ahead of them.
        split_lines: those of them with more words than a row holds.
        words: tokens without sentence boundaries.
        truncated_words: words whose characters do not all reach the model.
        sentences: rows in all batches.
        batched_words: words in all batches, for which more may have been read.
        unknown_words: those of them that the vocabulary lacks.
        dropped_words: words dropped while counting, as there were too many distinct
            ones.
        max_count_error: the most by which a word's count may be too low for that.
        positions: elements of `token_ids` in all batches.
        padding_positions: those that hold nothing.
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

    def messages(self) -> list[str]:
        """Returns a sentence for each thing worth telling a person, if any."""
        told = []
        if self.invalid_lines:
            told.append(
                f"{_lines(self.invalid_lines)} held invalid UTF-8; the bad bytes were "
                "replaced by U+FFFD"
            )
        if self.lines_with_nul:
            told.append(
                f"{_lines(self.lines_with_nul)} held NUL bytes, which were taken for "
                "spaces"
            )
        if self.split_lines:
            told.append(
                f"{_lines(self.split_lines)} of {self.used_lines:,} had more words "
                "than a row holds and became several rows"
            )
        if self.truncated_words:
            told.append(
                f"{_share(self.truncated_words, self.words)} of words are longer than "
                f"{MAX_BYTES} bytes and are truncated"
            )
        if self.unknown_words:
            told.append(
                f"{_share(self.unknown_words, self.batched_words)} of words are not in "
                "the vocabulary"
            )
        if self.dropped_words:
            told.append(
                f"{_share(self.dropped_words, self.words)} of words were dropped while "
                "counting, the rarest of too many distinct ones; a word's count may be "
                f"too low by {self.max_count_error:,}"
            )
        return told


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"


def _share(part: int, whole: int) -> str:
    percent = 100 * part / whole
    if percent < 0.01:
        return "less than 0.01 %"
    return f"{percent:.2g} %" if percent < 10 else f"{percent:.0f} %"
