"""Words to their parts of one script each."""

from typing import Any

from keras_elmo.optional import import_tensorflow

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
    tf = import_tensorflow("Reading raw text")
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
