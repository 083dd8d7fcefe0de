"""The tokens that the rows of an index stand for."""

import functools
from collections.abc import Collection
from functools import cached_property

import numpy as np

from keras_elmo.utils.checks import check_type
from keras_elmo.words.index_files import Arrays
from keras_elmo.words.token_vectors import Occurrence

_KEPT_WORDS = 65_536
# A position in a sentence, and the sentence.
Place = tuple[int, tuple[str, ...]]
# A word, or several that count as one.
Words = str | Collection[str]


class TokenTable:
    """Reads what the rows of an index's arrays stand for."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._word = functools.lru_cache(_KEPT_WORDS)(self._read_word)

    def place(self, row: int) -> Place:
        """Returns where the token of a row stands."""
        place = int(self._arrays["places"][row])
        limits, tokens = self._arrays["sentence_limits"], self._arrays["tokens"]
        sentence = int(np.searchsorted(limits, place, side="right")) - 1
        start, end = limits[sentence : sentence + 2].tolist()
        words = tuple(self._word(k) for k in tokens[start:end].tolist())
        return place - start, words

    def occurrences(
        self, rows: np.ndarray, cosines: np.ndarray, left_out: Place | None
    ) -> list[Occurrence]:
        """Returns what stands in the rows, each place of equal sentences once."""
        unique: dict[Place, float] = {}
        for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True):
            unique.setdefault(self.place(row), cosine)
        if left_out is not None:
            unique.pop(left_out, None)
        return [Occurrence(c, list(words), at) for (at, words), c in unique.items()]

    def rows_of(self, word: Words) -> np.ndarray:
        """Returns the rows of a word or of several, in upper or lower case."""
        words = [word] if isinstance(word, str) else word
        wanted = np.zeros(len(self._arrays["word_limits"]), bool)
        for each in words:
            check_type(str, "a string", word=each)
            wanted[self.spellings.get(each.casefold(), [])] = True
        return np.flatnonzero(wanted[self._word_ids])

    def _read_word(self, k: int) -> str:
        start, end = self._arrays["word_limits"][k : k + 2].tolist()
        # A file may be damaged.
        return self._arrays["words"][start:end].tobytes().decode(errors="replace")

    @cached_property
    def spellings(self) -> dict[str, list[int]]:
        """The numbers of the words that differ in case alone, by their lower case."""
        spellings: dict[str, list[int]] = {}
        for k in range(len(self._arrays["word_limits"]) - 1):
            spellings.setdefault(self._word(k).casefold(), []).append(k)
        return spellings

    @cached_property
    def _word_ids(self) -> np.ndarray:
        """The number of each row's word."""
        return self._arrays["tokens"][self._arrays["places"]]
