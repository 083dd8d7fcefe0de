"""Rows of a prepared text to ids."""

from collections.abc import Sequence

import numpy as np

from keras_elmo.text.distinct_words import DistinctWords
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.text.vocabulary import END, PADDING_ID, START, UNKNOWN, Vocabulary

# Of the most frequent words the ids are kept; with 50 of them they take 26 MB.
_KEPT_WORDS = 1 << 17
# Rows of the table before the words: the masked one, 0, and the boundaries.
_BEGIN, _END, _BEFORE = 1, 2, 3


class IndexedIds:
    """Makes the ids of rows whose words are numbers of distinct words."""

    def __init__(
        self, words: DistinctWords, vocabulary: Vocabulary, encode: PlainIds
    ) -> None:
        get = vocabulary.lookup.get
        targets = (get(word, UNKNOWN) for word in words)
        self._targets = np.fromiter(targets, "int32", count=len(words))
        self._words = words
        self._encode = encode
        num_kept = min(len(words), _KEPT_WORDS)
        masked = [0] * encode.num_ids
        self._boundaries = np.array([masked, encode.begin, encode.end], "int32")
        self._kept = np.empty((num_kept, encode.num_ids), "int32")
        self._is_known = np.zeros(num_kept, bool)

    def __call__(
        self, rows: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns what `PlainIds.distinct` does of the words, and `token_ids`."""
        lengths = np.array([len(row) for row in rows])
        words = np.concatenate(rows)
        inside = np.arange(lengths.max()) < lengths[:, np.newaxis]
        ends = np.arange(len(rows)), lengths + 1
        shape = len(rows), inside.shape[1] + 2

        token_ids = np.full(shape, PADDING_ID, "int32")
        token_ids[:, 0] = START
        token_ids[:, 1:-1][inside] = self._targets[words]
        token_ids[ends] = END

        # In the order in which they occur, as in raw text.
        distinct, first, which = np.unique(words, True, True)
        order = np.argsort(first)
        places = np.empty_like(order)
        places[order] = np.arange(_BEFORE, _BEFORE + len(order))
        positions = np.zeros(shape, "int32")
        positions[:, 0] = _BEGIN
        positions[:, 1:-1][inside] = places[which]
        positions[ends] = _END
        table = np.concatenate([self._boundaries, self._look_up(distinct[order])])
        return table, positions, token_ids

    def _look_up(self, words: np.ndarray) -> np.ndarray:
        """Returns the ids of distinct words; keeps the ids of frequent ones."""
        is_kept = words < len(self._is_known)
        kept = words[is_kept]
        new = kept[~self._is_known[kept]]
        if len(new):
            self._kept[new] = self._ids(new)
            self._is_known[new] = True
        ids = np.empty((len(words), self._kept.shape[1]), "int32")
        ids[is_kept] = self._kept[kept]
        if len(kept) < len(words):
            ids[~is_kept] = self._ids(words[~is_kept])
        return ids

    def _ids(self, words: np.ndarray) -> np.ndarray:
        return self._encode.encode([self._words[number] for number in words.tolist()])
