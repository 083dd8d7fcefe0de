"""Tokens to the published models' character ids.

This is the only place that knows a special id. All of them stand 1 above the
published alphabet's, because 0 is a masked position.
"""

import functools
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_elmo.config import MAX_CHARACTERS
from keras_elmo.text.tokenizer import StringLayer
from keras_elmo.utils.lazy import tf

MAX_BYTES = MAX_CHARACTERS - 2  # of one word, between its begin and its end

_BEGIN_OF_SENTENCE = 257
_END_OF_SENTENCE = 258
_BEGIN_OF_WORD = 259
_END_OF_WORD = 260
_PADDING = 261


@keras.saving.register_keras_serializable("keras_elmo")
class CharacterIds(StringLayer):
    """Spells tokens out as UTF-8 bytes and puts sentence boundaries around them.

    A word is its begin, its first 48 bytes (each byte b as b + 1), its end, and
    padding to 50 ids; a sentence boundary is a word of one id. Any token is an
    ordinary word, even one spelt like a special of a vocabulary.

    Args:
        **kwargs: of `keras.layers.Layer`.

    Call arguments:
        tokens: a string tensor of shape `(batch, tokens)`, padded with `""` on
            the right, or a list of equally long lists.

    Returns:
        Character ids of shape `(batch, tokens + 2, 50)`, int32: the begin of the
        sentence, its words, its end, then zeros.

    Masking:
        A row ends at its last token other than `""`; positions behind its end of
        sentence are zero, the masked id. An `""` before that is an empty word.

    Raises:
        ValueError: `tokens` has not two axes.
        RuntimeError: called on another Keras backend than TensorFlow; the
            function `character_ids` works there, too.
    """

    _num_axes = 2
    _before_the_model = "the ids, with keras_elmo.text.character_ids.character_ids,"

    def call(self, tokens: Any) -> Any:
        return character_ids(self._strings(tokens, "tokens"))

    def compute_output_spec(self, tokens: Any) -> keras.KerasTensor:
        self._require_tensorflow_backend()
        self._check_axes(tokens.shape, "tokens")
        batch, length = tokens.shape
        length = None if length is None else length + 2
        return keras.KerasTensor((batch, length, MAX_CHARACTERS), dtype="int32")


def character_ids(tokens: Any) -> Any:
    """Returns the character ids of `CharacterIds`, with TensorFlow's core ops alone.

    Args:
        tokens: a string tensor of shape `(batch, tokens)`.

    Returns:
        An int32 tensor of shape `(batch, tokens + 2, 50)`.
    """
    tokens = tf.pad(tokens, [[0, 0], [1, 1]], constant_values="")
    # A place for each boundary is there now; one axis more for the characters.
    place = tf.range(tf.shape(tokens)[1])[:, tf.newaxis]
    filled = tf.where(tokens != "", place[:, 0], 0)
    end = 1 + tf.reduce_max(filled, axis=1)[:, tf.newaxis, tf.newaxis]
    ids = tf.where(place < end, _spell(tokens), 0)
    ids = tf.where(place == end, _boundary(_END_OF_SENTENCE), ids)
    return tf.where(place == 0, _boundary(_BEGIN_OF_SENTENCE), ids)


def encode_tokens(sentence: Sequence[str | bytes]) -> np.ndarray:
    """Returns the character ids of one sentence, in the memory of the host.

    Args:
        sentence: tokens.

    Returns:
        An int32 array of shape `(1, tokens + 2, 50)`.
    """
    tokens = tf.constant([sentence], tf.string, (1, len(sentence)))
    return _graph()(tokens).numpy()


@functools.cache
def _graph() -> Any:
    """`character_ids` as one call, for its ops one by one take longer than a biLM."""
    signature = [tf.TensorSpec((None, None), tf.string)]
    return tf.function(character_ids, input_signature=signature, autograph=False)


def _spell(tokens: Any) -> Any:
    length = tf.minimum(tf.strings.length(tokens, unit="BYTE"), MAX_BYTES)
    length = length[..., tf.newaxis]
    spelt = tf.io.decode_raw(tokens, tf.uint8, fixed_length=MAX_BYTES)
    spelt = tf.pad(tf.cast(spelt, tf.int32) + 1, [[0, 0], [0, 0], [1, 1]])
    character = tf.range(MAX_CHARACTERS)
    ids = tf.where(character <= length, spelt, _PADDING)
    ids = tf.where(character == length + 1, _END_OF_WORD, ids)
    return tf.where(character == 0, _BEGIN_OF_WORD, ids)


def _boundary(sentence_id: int) -> list[int]:
    word = [_BEGIN_OF_WORD, sentence_id, _END_OF_WORD]
    return word + [_PADDING] * (MAX_CHARACTERS - len(word))
