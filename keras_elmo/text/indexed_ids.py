"""Rows of a prepared text to ids."""

from collections.abc import Sequence

import numpy as np

from keras_elmo.text.distinct_words import DistinctWords
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.text.vocabulary import END, PADDING_ID, START, UNKNOWN, Vocabulary

# Of the most frequent words the ids are kept; with 50 of them they take 26 MB.
_KEPT_WORDS = 1 << 17
# What stands before the words of a batch.
_MASKED, _BEGIN, _END = 0, 1, 2
_BEFORE = 3


class IndexedIds:
    """Makes the ids of rows whose words are numbers of distinct words.

    Args:
        words: the distinct ones.
        vocabulary: the words to predict.
        encode: makes the ids of a word.
    """

    def __init__(
        self, words: DistinctWords, vocabulary: Vocabulary, encode: PlainIds
    ) -> None:
        get = vocabulary.lookup.get
        targets = (get(word, UNKNOWN) for word in words)
        self._targets = np.fromiter(targets, "int32", count=len(words))
        self._words = words
        self._encode = encode
        num_kept = min(len(words), _KEPT_WORDS)
        self._table = np.zeros((num_kept, encode.num_ids), "int32")
        self._is_known = np.zeros(num_kept, bool)

    def __call__(
        self, rows: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns what `PlainIds.distinct` does, and the targets of the rows."""
        lengths = np.array([len(row) for row in rows])
        words = np.concatenate(rows)
        inside = np.arange(lengths.max()) < lengths[:, np.newaxis]
        last = np.arange(len(rows)), lengths + 1
        shape = len(rows), inside.shape[1] + 2

        token_ids = np.full(shape, PADDING_ID, "int32")
        token_ids[:, 0] = START
        token_ids[:, 1:-1][inside] = self._targets[words]
        token_ids[last] = END

        distinct, places = _in_order(words)
        positions = np.full(shape, _MASKED, "int32")
        positions[:, 0] = _BEGIN
        positions[:, 1:-1][inside] = places + _BEFORE
        positions[last] = _END
        before = np.array([[0] * self._encode.num_ids], "int32")
        before = np.concatenate([before, [self._encode.begin, self._encode.end]])
        table = np.concatenate([before.astype("int32"), self._ids(distinct)])
        return table, positions, token_ids

    def _ids(self, words: np.ndarray) -> np.ndarray:
        """Returns the ids of words; those of frequent ones are kept."""
        ids = np.empty((len(words), self._encode.num_ids), "int32")
        is_frequent = words < len(self._is_known)
        frequent = words[is_frequent]
        new = frequent[~self._is_known[frequent]]
        if len(new):
            self._table[new] = self._encoded(new)
            self._is_known[new] = True
        ids[is_frequent] = self._table[frequent]
        if len(frequent) < len(words):
            ids[~is_frequent] = self._encoded(words[~is_frequent])
        return ids

    def _encoded(self, words: np.ndarray) -> np.ndarray:
        return self._encode.encode([self._words[number] for number in words.tolist()])


def _in_order(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distinct words as they first occur, and the place of each word.

    So a batch lists them in the order in which a batch of the text itself does.
    """
    distinct, first, which = np.unique(words, return_index=True, return_inverse=True)
    order = np.argsort(first)
    places = np.empty(len(order), "int32")
    places[order] = np.arange(len(order), dtype="int32")
    return distinct[order], places[which]
