"""Tokens to the ids of words and of Unicode characters."""

import weakref

import numpy as np

from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.token_vocabulary import TokenVocabulary
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Tensor


class VocabularyEncoding:
    """The lookups of a vocabulary, as tables of TensorFlow.

    Args:
        vocabulary: the words and characters.

    Attributes:
        begin: the ids of a sentence's beginning.
        end: the ids of its end.
        table: the lookup of words, or `None`; what is saved has to hold it.
    """

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        self._names = vocabulary.begin, vocabulary.end
        plain = PlainIds(vocabulary)
        self.begin, self.end = plain.begin, plain.end
        # 0 for words that are not cut.
        self._max_characters = vocabulary.max_characters or 0
        self.table: tf.lookup.StaticHashTable | None = None
        words = list(vocabulary.words)
        if words:
            unknown = words.index(vocabulary.unknown)
            # Eagerly: the table outlives the graph that it is first needed in.
            with tf.init_scope():
                rows = tf.range(len(words), dtype=tf.int64)
                pairs = tf.lookup.KeyValueTensorInitializer(words, rows)
                self.table = tf.lookup.StaticHashTable(pairs, unknown)
        self._characters = np.empty(0, "int32")
        ids = {entry: k for k, entry in enumerate(vocabulary.characters, 1)}
        if ids:
            # By code point; those beyond the last one are unknown, as it is.
            points = {ord(entry): k for entry, k in ids.items() if len(entry) == 1}
            size = max(points, default=0) + 2
            self._characters = np.full(size, ids[vocabulary.unknown], "int32")
            for point, k in points.items():
                self._characters[point] = k
            marks = vocabulary.begin_of_word, vocabulary.end_of_word, vocabulary.padding
            self._marks = [ids[mark] for mark in marks]

    def encode(self, tokens: Tensor) -> Tensor:
        """Returns the ids of a string tensor, on a new last axis."""
        parts = []
        if self.table is not None:
            words = tokens
            if self._max_characters:
                length = self._max_characters - 2
                words = tf.strings.substr(tokens, 0, length, unit="UTF8_CHAR")
            rows = tf.cast(self.table.lookup(words), tf.int32)
            parts.append(rows[..., tf.newaxis] + 1)
        if self._characters.size:
            parts.append(self._character_ids(tokens))
        ids = tf.concat(parts, axis=-1)
        for name, boundary in zip(self._names, (self.begin, self.end), strict=True):
            ids = tf.where((tokens == name)[..., tf.newaxis], boundary, ids)
        return ids

    def _character_ids(self, tokens: Tensor) -> Tensor:
        most = self._max_characters - 2
        begin, end, padding = self._marks
        # Four bytes a character, of which those beyond the longest word are left out.
        wide = tf.strings.unicode_transcode(tokens, "UTF-8", "UTF-32-BE")
        points = tf.io.decode_raw(
            wide, tf.int32, little_endian=False, fixed_length=4 * most
        )
        length = tf.minimum(tf.strings.length(wide, unit="BYTE") // 4, most)
        length = length[..., tf.newaxis]
        known = len(self._characters)
        ids = tf.gather(self._characters, tf.minimum(points, known - 1))
        ids = tf.pad(ids, [[0, 0], [0, 0], [1, 1]])
        character = tf.range(self._max_characters)
        ids = tf.where(character <= length, ids, padding)
        ids = tf.where(character == length + 1, end, ids)
        return tf.where(character == 0, begin, ids)


# By the vocabulary's id: an equal one may live longer than the tables of the other.
_ENCODINGS: dict[int, VocabularyEncoding] = {}


def vocabulary_encoding(vocabulary: TokenVocabulary) -> VocabularyEncoding:
    """Returns the lookups of a vocabulary, which live as long as it does."""
    key = id(vocabulary)
    if key not in _ENCODINGS:
        _ENCODINGS[key] = VocabularyEncoding(vocabulary)
        weakref.finalize(vocabulary, _ENCODINGS.pop, key, None)
    return _ENCODINGS[key]
