"""Raw text to tokens, inside a model or in a tf.data pipeline."""

from typing import Any

import keras

from keras_elmo.utils.lazy import tf, tf_text


class StringLayer(keras.layers.Layer):
    """A Keras layer whose inputs are strings of a fixed number of axes.

    Of Keras's backends only TensorFlow has strings. On the others the layer can be
    made and saved, and its TensorFlow functions used on their own, but not called.
    """

    _num_axes: int
    # What can be made of strings where Keras has none.
    _before_the_model: str

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # Strings crash XLA, which Keras turns on by itself on a GPU.
        self.supports_jit = False
        # Keras's own conversion refuses lists and NumPy arrays of strings.
        self._convert_input_args = False
        self._allow_non_tensor_positional_args = True

    def _strings(self, value: Any, argument: str) -> Any:
        """Returns `value` as a string tensor, or says why it cannot be one."""
        self._require_tensorflow_backend()
        # An empty list has no type of its own, so it is given.
        tensor = tf.convert_to_tensor(value, tf.string)
        self._check_axes(tensor.shape, argument)
        return tensor

    def _require_tensorflow_backend(self) -> None:
        if keras.backend.backend() != "tensorflow":
            raise RuntimeError(
                f"{type(self).__name__} takes strings, which Keras has on its "
                f"TensorFlow backend only. Make {self._before_the_model} before the "
                f"model. Received: backend={keras.backend.backend()!r}"
            )

    def _check_axes(self, shape: Any, argument: str) -> None:
        if len(shape) != self._num_axes:
            raise ValueError(
                f"`{argument}` must have {self._num_axes} axes. "
                f"Received: {argument}.shape={tuple(shape)}"
            )


# ICU's numbers of the scripts of characters that go with letters of any.
_COMMON, _INHERITED = 0, 1


def split_at_scripts(words: Any) -> Any:
    """Splits words where the script changes.

    Characters without a script of their own, as accents, joiners and Japan's mark of a
    long vowel are, take that of the letter before (Unicode Standard Annex #24,
    section 5.2); those that begin a word take that of the letter behind.

    Args:
        words: a string tensor of shape `(words,)`, of UTF-8; none is empty.

    Returns:
        A `tf.RaggedTensor` of shape `(words, None)`.
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


# The characters with Unicode's White_Space property that `tf.strings.split` does
# not split at, and NUL, which ends a string for too many other programs. Spelt
# out, because RE2 is eight times slower on `\p{Z}`.
_OTHER_SPACES = (
    r"[\x{0}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}"
    r"\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"
)
# And the space without width, where a line of Khmer or Thai may break.
_SPACES = rf"{_OTHER_SPACES[:-1]}\x{{200b}}]"
# The byte order mark and the marks of direction: a word is the same with and without.
_UNSEEN = r"[\x{61c}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}\x{feff}]"
# A number with its inner points and commas, or one punctuation mark, symbol or number
# like ½, with the accents, the choice of a glyph or the joiner behind it. Few have a
# script of their own to be split at: "(1990)," would stay together.
_NUMBER_OR_MARK = (
    r"(?:\p{Nd}+(?:[.,]\p{Nd}+)*|[\p{P}\p{S}\p{No}])[\p{M}\x{200c}\x{200d}]*"
)


@keras.saving.register_keras_serializable("keras_elmo")
class Tokenizer(StringLayer):
    """Splits raw text into tokens.

    Both kinds replace invalid UTF-8 by U+FFFD, take NUL for a space and drop
    Unicode's white space.

    Args:
        kind: `"unicode"` normalises to NFC and splits at white space, where the
            script changes, and around every number, punctuation mark and symbol,
            in any language; it splits at U+200B, drops the marks of direction and
            of byte order, and needs tensorflow-text.
            `"whitespace"` splits at white space alone, for text that is already
            tokenised; it uses TensorFlow's core ops only, which have no
            normalisation.
        **kwargs: of `keras.layers.Layer`.

    Call arguments:
        strings: raw text, a string tensor of shape `(batch,)`, or a list.

    Returns:
        Tokens, a string tensor of shape `(batch, tokens)` padded with `""`, where
        `tokens` is at least 1.

    Raises:
        ValueError: `kind` is neither of the two, or `strings` has not one axis.
        RuntimeError: called on another Keras backend than TensorFlow; `ragged`
            works there, too.
    """

    _num_axes = 1
    _before_the_model = "the tokens, with its method `ragged`,"

    def __init__(self, kind: str = "unicode", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if kind not in ("unicode", "whitespace"):
            raise ValueError(
                f"`kind` must be 'unicode' or 'whitespace'. Received: kind={kind!r}"
            )
        self.kind = kind

    def ragged(self, strings: Any) -> Any:
        """Returns the tokens without padding.

        Args:
            strings: raw text, a string tensor of shape `(batch,)`, or a list.

        Returns:
            A `tf.RaggedTensor` of shape `(batch, None)`.
        """
        strings = tf.convert_to_tensor(strings, tf.string)
        return _unicode(strings) if self.kind == "unicode" else _whitespace(strings)

    def call(self, strings: Any) -> Any:
        tokens = self.ragged(self._strings(strings, "strings")).to_tensor("")
        # Layers behind this one need at least one position, even if all are empty.
        missing = tf.cast(tf.shape(tokens)[1] == 0, tf.int32)
        return tf.pad(tokens, [[0, 0], [0, missing]], constant_values="")

    def compute_output_spec(self, strings: Any) -> keras.KerasTensor:
        self._require_tensorflow_backend()
        self._check_axes(strings.shape, "strings")
        return keras.KerasTensor((strings.shape[0], None), dtype="string")

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "kind": self.kind}


def register_operations(kind: str) -> None:
    """Makes what a kind's graph is made of known to this process.

    A SavedModel that cuts raw text cannot be loaded otherwise.
    """
    if kind == "unicode":
        # Importing the module does it.
        _ = tf_text.normalize_utf8


def _unicode(strings: Any) -> Any:
    strings = tf.strings.regex_replace(_valid(strings), _UNSEEN, "")
    strings = tf_text.normalize_utf8(strings, "NFC")
    strings = tf.strings.regex_replace(strings, _NUMBER_OR_MARK, r" \0 ")
    words = _split(strings, _SPACES)
    # Each distinct word once: a text has few of them.
    distinct, places = tf.unique(words.values)
    parts = split_at_scripts(distinct)
    return tf.gather(parts, words.with_values(places)).merge_dims(1, 2)


def _whitespace(strings: Any) -> Any:
    return _split(_valid(strings), _OTHER_SPACES)


def _valid(strings: Any) -> Any:
    return tf.strings.unicode_transcode(strings, "UTF-8", "UTF-8", errors="replace")


def _split(strings: Any, spaces: str) -> Any:
    return tf.strings.split(tf.strings.regex_replace(strings, spaces, " "))
