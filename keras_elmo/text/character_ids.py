"""Tokens to the ids that a model embeds: of bytes, or of words and characters."""

import keras
import numpy as np

from keras_elmo.config import MAX_BYTES, MAX_CHARACTERS
from keras_elmo.text.plain_ids import BEGIN_OF_WORD, END_OF_WORD, PADDING, PlainIds
from keras_elmo.text.string_layer import StringLayer, padded, sentence_lengths
from keras_elmo.token_vocabulary import TokenVocabulary
from keras_elmo.utils.checks import check_type
from keras_elmo.utils.keras_classes import keras_class
from keras_elmo.utils.lazy import do_not_convert, tf
from keras_elmo.utils.types import Config, Shape, Tensor


@keras_class
class CharacterIds(StringLayer):
    """Encodes tokens as UTF-8 bytes, with the boundaries of the sentence around them.

    The 50 ids of a word are its beginning, its first 48 bytes (b + 1 for each byte b),
    its end, and padding. A sentence boundary is a word of one id of its own. No token
    is special, even if it is spelt like a special word of a vocabulary.

    With a `TokenVocabulary`, a token has the ids of its word and of its Unicode
    characters, for models of ELMoForManyLangs and models of word ids. There a token
    that is spelt like a boundary is one.

    Args:
        vocabulary: `encoder.config.token_vocabulary`; `None`, for published and
            pretrained models, means bytes.
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
        return batch, length, PlainIds(self.vocabulary).num_ids

    def get_config(self) -> Config:
        vocabulary = self.vocabulary and self.vocabulary.to_dict()
        return {**super().get_config(), "vocabulary": vocabulary}

    @classmethod
    def from_config(cls, config: Config) -> "CharacterIds":
        if config.get("vocabulary") is not None:
            vocabulary = TokenVocabulary.from_dict(config["vocabulary"])
            config = {**config, "vocabulary": vocabulary}
        return cls(**config)


@do_not_convert
def character_ids(tokens: Tensor, vocabulary: TokenVocabulary | None = None) -> Tensor:
    """Returns what `CharacterIds` does, by core ops, on any Keras backend.

    Args:
        tokens: a string tensor of shape `(batch, tokens)`.
        vocabulary: the argument of `CharacterIds`.

    Returns:
        An int32 tensor of shape `(batch, tokens + 2, ids)`.

    Raises:
        ValueError: an `""` precedes a token.
    """
    encode = _encode_bytes
    if vocabulary is not None:
        encode = vocabulary_encoding(vocabulary).encode
    plain = PlainIds(vocabulary)
    tokens = padded(tokens)
    end = 1 + sentence_lengths(tokens)[:, tf.newaxis, tf.newaxis]
    tokens = tf.pad(tokens, [[0, 0], [1, 1]], constant_values="")
    # Each boundary has a position now. The last axis holds the characters.
    position = tf.range(tf.shape(tokens)[1])[:, tf.newaxis]
    ids = tf.where(position < end, encode(tokens), 0)
    ids = tf.where(position == end, plain.end, ids)
    return tf.where(position == 0, plain.begin, ids)


def _encode_bytes(tokens: Tensor) -> Tensor:
    """Returns the ids of a string tensor for published models, on a new last axis."""
    length = tf.minimum(tf.strings.length(tokens, unit="BYTE"), MAX_BYTES)
    length = length[..., tf.newaxis]
    encoded = tf.io.decode_raw(tokens, tf.uint8, fixed_length=MAX_BYTES)
    encoded = tf.pad(tf.cast(encoded, tf.int32) + 1, [[0, 0], [0, 0], [1, 1]])
    character = tf.range(MAX_CHARACTERS)
    ids = tf.where(character <= length, encoded, PADDING)
    ids = tf.where(character == length + 1, END_OF_WORD, ids)
    return tf.where(character == 0, BEGIN_OF_WORD, ids)


class _Vocabulary:
    """Looks tokens up in a vocabulary.

    `table` holds its words, if any: what is saved has to hold it, too.
    """

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        self._vocabulary = vocabulary
        self.table: tf.lookup.StaticHashTable | None = None
        if vocabulary.words:
            # Eagerly: the table outlives the graph that it is first needed in.
            with tf.init_scope():
                ids = tf.range(1, len(vocabulary.words) + 1)
                pairs = tf.lookup.KeyValueTensorInitializer(list(vocabulary.words), ids)
                unknown = vocabulary.word_ids[vocabulary.unknown]
                self.table = tf.lookup.StaticHashTable(pairs, unknown)
        if vocabulary.characters:
            known = vocabulary.character_ids
            # By code point; those after the last one are unknown, as it is.
            points = {ord(entry): k for entry, k in known.items() if len(entry) == 1}
            size = max(points, default=0) + 2
            self._by_point = np.full(size, known[vocabulary.unknown], "int32")
            self._by_point[list(points)] = list(points.values())

    def encode(self, tokens: Tensor) -> Tensor:
        """Returns the ids of a string tensor, on a new last axis."""
        vocabulary, parts = self._vocabulary, []
        if self.table is not None:
            words = tokens
            if vocabulary.max_characters:
                length = vocabulary.max_characters - 2
                words = tf.strings.substr(tokens, 0, length, unit="UTF8_CHAR")
            parts.append(self.table.lookup(words)[..., tf.newaxis])
        if vocabulary.characters:
            parts.append(self._character_ids(tokens, vocabulary.max_characters or 0))
        ids = tf.concat(parts, axis=-1)
        for name in (vocabulary.begin, vocabulary.end):
            is_boundary = (tokens == name)[..., tf.newaxis]
            ids = tf.where(is_boundary, vocabulary.ids(name), ids)
        return ids

    def _character_ids(self, tokens: Tensor, num_ids: int) -> Tensor:
        words = tf.reshape(tokens, [-1])
        points = tf.strings.unicode_decode(words, "UTF-8")[:, : num_ids - 2]
        last = len(self._by_point) - 1
        ids = tf.gather(self._by_point, tf.minimum(points.values, last))
        known = self._vocabulary.character_ids
        column = tf.ones([tf.size(words), 1], tf.int32)
        begin = known[self._vocabulary.begin_of_word] * column
        end = known[self._vocabulary.end_of_word] * column
        rows = tf.concat([begin, points.with_values(ids), end], axis=1)
        padding = known[self._vocabulary.padding]
        ids = rows.to_tensor(padding, shape=[None, num_ids])
        return tf.reshape(ids, tf.concat([tf.shape(tokens), [num_ids]], 0))


def vocabulary_encoding(vocabulary: TokenVocabulary) -> _Vocabulary:
    """Returns what looks tokens up in TensorFlow; the vocabulary keeps it."""
    encoding = vocabulary.lookups.get("tensorflow")
    if not isinstance(encoding, _Vocabulary):
        encoding = vocabulary.lookups["tensorflow"] = _Vocabulary(vocabulary)
    return encoding
