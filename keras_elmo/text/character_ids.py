"""Tokens to the ids that a model embeds: of bytes, or of words and characters."""

import weakref

import keras
import numpy as np

from keras_elmo.config import MAX_BYTES, MAX_CHARACTERS
from keras_elmo.text.plain_ids import BEGIN_OF_WORD, END_OF_WORD, PADDING, PlainIds
from keras_elmo.text.string_layer import StringLayer, padded, sentence_lengths
from keras_elmo.token_vocabulary import TokenVocabulary
from keras_elmo.utils.checks import check_type
from keras_elmo.utils.fixed import fixed_arguments
from keras_elmo.utils.lazy import do_not_convert, tf
from keras_elmo.utils.types import Config, Shape, Tensor


@keras.saving.register_keras_serializable("keras_elmo")
@fixed_arguments
class CharacterIds(StringLayer):
    """Encodes tokens as UTF-8 bytes, with the boundaries of the sentence around them.

    The 50 ids of a word are its beginning, its first 48 bytes (b + 1 for each byte b),
    its end, and padding. A sentence boundary is a word of one id of its own. No token
    is special, even if it is spelt like a special word of a vocabulary.

    With a `TokenVocabulary` the ids are those of a token's word and of its Unicode
    characters, as models of ELMoForManyLangs and of word ids take them. There a token
    that is spelt like a boundary is one.

    Args:
        vocabulary: `encoder.config.token_vocabulary`: `None`, as of published and
            pretrained models, for bytes.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        tokens: a string tensor of shape `(batch, tokens)`, padded with `""` on
            the right, or a list of equally long lists.

    Returns:
        Character ids of shape `(batch, tokens + 2, 50)`, int32: the beginning of the
        sentence, its words, its end, then zeros. With a vocabulary the last axis has
        `vocabulary.ids_per_token` elements.

    Masking:
        A row ends at its last token other than `""`; the ids after its end of sentence
        are 0, the masked id.

    Raises:
        ValueError: `tokens` has not two axes, or an `""` precedes a token. In a graph,
            such as that of `fit` or of `tf.data.Dataset.map`, the latter raises
            `tf.errors.InvalidArgumentError` when it runs.
        RuntimeError: called on another Keras backend than TensorFlow; the
            function `character_ids` works there, too.

    Example:

    ```python
    char_ids = keras_elmo.CharacterIds()([["a", "bank"], ["a", ""]])
    assert char_ids.shape == (2, 4, 50)
    # Begin of the word, "a" (byte 97), end of the word, padding.
    np.testing.assert_array_equal(char_ids[0, 1, :4], [259, 98, 260, 261])
    # The shorter sentence is masked after its end.
    assert not np.any(char_ids[1, 3])
    ```

    Reference: Peters et al. 2018, Deep Contextualized Word Representations, section
    3.4; Jozefowicz et al. 2016, Exploring the Limits of Language Modeling, section 3.
    """

    _num_axes = 2
    _alternative = "the ids, with keras_elmo.text.character_ids.character_ids,"

    def __init__(
        self, vocabulary: TokenVocabulary | None = None, **kwargs: object
    ) -> None:
        super().__init__(**kwargs)
        rule = "a TokenVocabulary or None"
        check_type((TokenVocabulary, type(None)), rule, vocabulary=vocabulary)
        self.vocabulary = vocabulary
        self._table: tf.lookup.StaticHashTable | None = None

    def build(self, tokens_shape: Shape) -> None:
        # An attribute, so that files of a graph have it.
        if self.vocabulary is not None:
            self._table = vocabulary_encoding(self.vocabulary).table

    def call(self, tokens: Tensor) -> Tensor:
        return character_ids(self._strings(tokens, "tokens"), self.vocabulary)

    def compute_output_spec(self, tokens: Tensor) -> keras.KerasTensor:
        self._require_tensorflow_backend()
        self._check(tokens, "tokens")
        return keras.KerasTensor(self.compute_output_shape(tokens.shape), "int32")

    def compute_output_shape(self, tokens_shape: Shape) -> Shape:
        batch, length = tokens_shape
        length = None if length is None else length + 2
        ids = MAX_CHARACTERS
        if self.vocabulary is not None:
            ids = self.vocabulary.ids_per_token
        return batch, length, ids

    def get_config(self) -> Config:
        vocabulary = self.vocabulary and self.vocabulary.to_dict()
        return {**super().get_config(), "vocabulary": vocabulary}

    @classmethod
    def from_config(cls, config: Config) -> "CharacterIds":
        vocabulary = config.get("vocabulary")
        if vocabulary is not None:
            vocabulary = TokenVocabulary.from_dict(vocabulary)
        return cls(**{**config, "vocabulary": vocabulary})


@do_not_convert
def character_ids(tokens: Tensor, vocabulary: TokenVocabulary | None = None) -> Tensor:
    """Returns what `CharacterIds` does; core ops of TensorFlow, on any Keras backend.

    Args:
        tokens: a string tensor of shape `(batch, tokens)`.
        vocabulary: as of `CharacterIds`.

    Returns:
        An int32 tensor of shape `(batch, tokens + 2, ids)`.

    Raises:
        ValueError: as of `CharacterIds`.
    """
    encoding = _encoding(vocabulary)
    tokens = padded(tokens)
    end = 1 + sentence_lengths(tokens)[:, tf.newaxis, tf.newaxis]
    tokens = tf.pad(tokens, [[0, 0], [1, 1]], constant_values="")
    # Each boundary has a position now. The last axis holds the characters.
    position = tf.range(tf.shape(tokens)[1])[:, tf.newaxis]
    ids = tf.where(position < end, encoding.encode(tokens), 0)
    ids = tf.where(position == end, encoding.end, ids)
    return tf.where(position == 0, encoding.begin, ids)


def _encoding(vocabulary: TokenVocabulary | None) -> "_Bytes | _Vocabulary":
    return _Bytes() if vocabulary is None else vocabulary_encoding(vocabulary)


class _Bytes:
    """The ids of the published models."""

    begin = PlainIds().begin
    end = PlainIds().end

    def encode(self, tokens: Tensor) -> Tensor:
        """Returns the ids of a string tensor, on a new last axis."""
        length = tf.minimum(tf.strings.length(tokens, unit="BYTE"), MAX_BYTES)
        length = length[..., tf.newaxis]
        encoded = tf.io.decode_raw(tokens, tf.uint8, fixed_length=MAX_BYTES)
        encoded = tf.pad(tf.cast(encoded, tf.int32) + 1, [[0, 0], [0, 0], [1, 1]])
        character = tf.range(MAX_CHARACTERS)
        ids = tf.where(character <= length, encoded, PADDING)
        ids = tf.where(character == length + 1, END_OF_WORD, ids)
        return tf.where(character == 0, BEGIN_OF_WORD, ids)


class _Vocabulary:
    """The lookups of a vocabulary, as tables of TensorFlow.

    `table` has its words, if any: what is saved has to hold it.
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
_ENCODINGS: dict[int, _Vocabulary] = {}


def vocabulary_encoding(vocabulary: TokenVocabulary) -> _Vocabulary:
    """Returns the lookups of a vocabulary, which live as long as it does."""
    key = id(vocabulary)
    if key not in _ENCODINGS:
        _ENCODINGS[key] = _Vocabulary(vocabulary)
        weakref.finalize(vocabulary, _ENCODINGS.pop, key, None)
    return _ENCODINGS[key]
