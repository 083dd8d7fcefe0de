"""Rows of a prepared text to ids."""

from collections.abc import Sequence

import numpy as np

from keras_elmo.text.distinct_words import DistinctWords
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.text.vocabulary import END, PADDING_ID, START, UNKNOWN, Vocabulary

# Of the most frequent words the ids are kept; with 50 of them they take 26 MB.
_KEPT_WORDS = 1 << 17
# Rows of the table before those of words: a masked position and the boundaries.
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
        self._table = np.zeros((_BEFORE + num_kept, encode.num_ids), "int32")
        self._table[_BEGIN] = encode.begin
        self._table[_END] = encode.end
        self._is_known = np.zeros(num_kept, bool)

    def __call__(self, rows: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Returns `char_ids` and `token_ids` of rows, as `Corpus` has them."""
        lengths = np.array([len(row) for row in rows])
        words = np.concatenate(rows)
        inside = np.arange(lengths.max()) < lengths[:, np.newaxis]
        last = np.arange(len(rows)), lengths + 1
        shape = len(rows), inside.shape[1] + 2

        token_ids = np.full(shape, PADDING_ID, "int32")
        token_ids[:, 0] = START
        token_ids[:, 1:-1][inside] = self._targets[words]
        token_ids[last] = END

        is_kept = words < len(self._is_known)
        self._learn(words[is_kept])
        places = np.full(shape, _MASKED, "int64")
        places[:, 0] = _BEGIN
        places[:, 1:-1][inside] = np.where(is_kept, words + _BEFORE, _MASKED)
        places[last] = _END
        char_ids = self._table.take(places, axis=0)
        if not is_kept.all():
            rare, which = np.unique(words[~is_kept], return_inverse=True)
            row, column = (axis[~is_kept] for axis in np.nonzero(inside))
            char_ids[row, column + 1] = self._ids(rare)[which]
        return {"char_ids": char_ids, "token_ids": token_ids}

    def _learn(self, words: np.ndarray) -> None:
        """Adds words to the table."""
        new = np.unique(words[~self._is_known[words]])
        if len(new):
            self._table[_BEFORE + new] = self._ids(new)
            self._is_known[new] = True

    def _ids(self, words: np.ndarray) -> np.ndarray:
        return self._encode.encode([self._words[number] for number in words.tolist()])
