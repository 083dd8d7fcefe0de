"""Raw text to tokens, in a Keras model or a tf.data pipeline."""

import unicodedata
from collections.abc import Callable

import keras
import numpy as np

from keras_elmo.config import TOKENIZERS
from keras_elmo.text import rules
from keras_elmo.text.string_layer import StringLayer, padded
from keras_elmo.utils.checks import check_choice
from keras_elmo.utils.keras_classes import keras_class
from keras_elmo.utils.lazy import do_not_convert, tf, tf_text
from keras_elmo.utils.one_graph import OneGraph
from keras_elmo.utils.types import Shape, Tensor

# ICU's numbers of the scripts of characters that occur with letters of any script.
_COMMON, _INHERITED = 0, 1


def split_at_scripts(words: Tensor) -> Tensor:
    """Splits words `(words,)` where the script changes, into a `tf.RaggedTensor`.

    Characters without a script of their own, such as accents, joiners and the Japanese
    mark of a long vowel, have the script of the letter before, at the beginning of a
    word of the letter after (Unicode Standard Annex #24, section 5.2).
    """
    characters = tf.strings.unicode_decode(words, "UTF-8")
    begins = characters.row_starts()
    scripts = tf.strings.unicode_script(characters.values)
    letters = tf.where((scripts != _COMMON) & (scripts != _INHERITED))[:, 0]
    scripts = tf.gather(scripts, letters)
    changes = tf.where(scripts[1:] != scripts[:-1])[:, 0]
    word_before, word = (
        tf.searchsorted(begins, tf.gather(letters, place), side="right") - 1
        for place in (changes, changes + 1)
    )
    within = word_before == word
    cuts = tf.boolean_mask(tf.gather(letters, changes + 1), within)
    parts = tf.RaggedTensor.from_row_starts(
        characters.values, tf.sort(tf.concat([begins, cuts], 0)), validate=False
    )
    num_cuts = tf.math.bincount(
        tf.boolean_mask(word, within), minlength=tf.size(words), dtype=tf.int64
    )
    return tf.RaggedTensor.from_row_lengths(
        tf.strings.unicode_encode(parts, "UTF-8"), num_cuts + 1, validate=False
    )


@keras_class
class Tokenizer(StringLayer):
    """Splits raw text into tokens.

    All kinds replace invalid UTF-8 by U+FFFD, and split at NUL and at Unicode's white
    space. All but `"whitespace"` keep a joined emoji and a flag whole, split at U+200B,
    and drop marks of direction and of byte order.

    Args:
        kind: what text the model learned from.

            - `"unicode"`: text in any language. It normalizes to NFC, and splits where
              the script changes and around every number, punctuation mark and symbol.
              An exported graph of it needs tensorflow-text, which has no wheels for
              Windows; the other kinds use TensorFlow's core ops only.
            - `"published"`: English as in the 1 Billion Word Benchmark, which the
              published models learned from: `don 't`, `it 's`, `U.S.`, `Mr.`, `5,300`
              and `ever-changing`; typographic quotes become `"` and `'`, dashes `--`.
              Addresses of the web and of e-mail stay whole.
            - `"treebank"`: the same as in the Penn Treebank, and in most labelled
              English data: `do n't`, `can not`, `o'clock`, `and/or`, `10:30`. Quotes
              stay `"`.
            - `"whitespace"`: text that is already tokenized.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        strings: raw text, a string tensor of shape `(batch,)` or `(batch, 1)`, or a
            list.

    Returns:
        Tokens, a string tensor of shape `(batch, tokens)` padded with `""`, where
        `tokens` is at least 1.

    Raises:
        ValueError: `kind` is none of them, or `strings` has another shape.
        RuntimeError: called on another Keras backend than TensorFlow; `ragged`
            works there, too.

    Example:

    ```python
    tokenizer = keras_elmo.Tokenizer()
    tokens = tokenizer(["The bank's open.", "Hi!"])
    assert tokens[0].numpy().tolist() == [b"The", b"bank", b"'", b"s", b"open", b"."]
    assert tokens[1].numpy().tolist() == [b"Hi", b"!", b"", b"", b"", b""]
    words = keras_elmo.Tokenizer("whitespace").ragged(["The bank's open.", "Hi!"])
    assert words.to_list() == [[b"The", b"bank's", b"open."], [b"Hi!"]]
    words = keras_elmo.Tokenizer("published").ragged(["The U.S. bank isn't open."])
    assert b" ".join(words[0].numpy()) == b"The U.S. bank isn 't open ."
    ```

    Reference: Chelba et al. 2014, One Billion Word Benchmark for Measuring Progress in
    Statistical Language Modeling; Marcus et al. 1993, Building a Large Annotated Corpus
    of English: The Penn Treebank.
    """

    _num_axes = 1
    _alternative = "the tokens, with its method `ragged`,"

    def __init__(self, kind: str = "unicode", **kwargs: object) -> None:
        super().__init__(**kwargs)
        check_choice(TOKENIZERS, kind=kind)
        self.kind = kind
        self._tokens = OneGraph(self._padded, (None,))

    @do_not_convert
    def ragged(self, strings: Tensor) -> Tensor:
        """Returns the tokens without padding.

        Args:
            strings: raw text, a string tensor of shape `(batch,)`, or a list.

        Returns:
            A `tf.RaggedTensor` of shape `(batch, None)`.
        """
        strings = tf.convert_to_tensor(strings, tf.string)
        strings = tf.strings.unicode_transcode(strings, "UTF-8", "UTF-8")
        if self.kind == "whitespace":
            return _split(strings, rules.OTHER_SPACES)
        strings = tf.strings.regex_replace(strings, rules.INVISIBLE, "")
        if self.kind == "unicode":
            return _unicode(strings)
        return _each_word(strings, lambda words: _split_english(words, self.kind))

    def call(self, strings: Tensor) -> Tensor:
        strings = self._strings(strings, "strings")
        shape = self.compute_output_shape(strings.shape)
        return self._tokens(tf.reshape(strings, [-1]), shape)

    def _padded(self, strings: Tensor) -> Tensor:
        return padded(self.ragged(strings))

    def _has_axes(self, shape: Shape) -> bool:
        # Or a column of texts, as `keras.Input((1,), dtype="string")` takes it.
        return len(shape) == 1 or tuple(shape[1:]) == (1,)

    def compute_output_spec(self, strings: Tensor) -> keras.KerasTensor:
        self._require_tensorflow_backend()
        self._check(strings, "strings")
        return keras.KerasTensor(self.compute_output_shape(strings.shape), "string")

    # Named as by Keras, whose `summary` passes what it has built the layer with.
    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], None)


def register_operations(kind: str | None) -> None:
    """Registers the TensorFlow ops that a SavedModel with this tokenizer needs."""
    if kind == "unicode":
        # Importing the module does it.
        _ = tf_text.normalize_utf8


def _compose(strings: Tensor) -> Tensor:
    """Brings strings to Unicode's form NFC."""
    try:
        return tf_text.normalize_utf8(strings, "NFC")
    except ImportError:
        # Not on Windows. A graph that calls Python cannot be saved, so an export asks
        # for `register_operations` first.
        composed = tf.numpy_function(_compose_in_python, [strings], tf.string)
        return tf.ensure_shape(composed, strings.shape)


def _compose_in_python(strings: np.ndarray) -> np.ndarray:
    composed = [unicodedata.normalize("NFC", text.decode()) for text in strings]
    return np.array([text.encode() for text in composed], object)


def _unicode(strings: Tensor) -> Tensor:
    strings = _compose(strings)
    # Few of these have a script to be split at.
    strings = tf.strings.regex_replace(strings, rules.NUMBER_OR_MARK, r" \0 ")
    return _each_word(strings, split_at_scripts)


def _split_english(words: Tensor, kind: str) -> Tensor:
    """Splits `(words,)` into a `tf.RaggedTensor` of shape `(words, None)`."""
    for pattern, replacement in rules.english_rules(kind):
        words = tf.strings.regex_replace(words, pattern, replacement)
    return tf.strings.split(words)


def _each_word(strings: Tensor, split: Callable[[Tensor], Tensor]) -> Tensor:
    """Splits each unique word once: a text has few of them."""
    words = _split(strings, rules.SPACES)
    unique, indices = tf.unique(words.values)
    return tf.gather(split(unique), words.with_values(indices)).merge_dims(1, 2)


def _split(strings: Tensor, spaces: str) -> Tensor:
    return tf.strings.split(tf.strings.regex_replace(strings, spaces, " "))
