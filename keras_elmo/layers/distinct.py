"""A batch's distinct words, so that the character CNN reads each of them once."""

from typing import Any

import keras
from keras import ops


def distinct_words(char_ids: Any, widest: int) -> tuple[Any, Any]:
    """Splits words into the distinct ones and where each word stands among them.

    Half the words of a batch of natural text are repetitions, and most of a word is
    padding. Where the backend needs static shapes or has no such op, every word counts
    as distinct and is as long as ever: the result is the same, the work is not.

    Args:
        char_ids: `(positions, characters)` integers.
        widest: the width of the widest convolution that is to read them.

    Returns:
        `words`, `(distinct, characters)`, without characters that no convolution can
        tell from those before them; and `positions`, `(positions,)` int32, of each
        word among the distinct ones.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        # A masked word stands first, so that a batch without words has one to embed.
        padded = tf.pad(char_ids, [[1, 0], [0, 0]])
        words, positions = tf.raw_ops.UniqueV2(x=padded, axis=[0])
        words.set_shape((None, char_ids.shape[-1]))
        return _without_repeated_end(words, widest), positions[1:]
    return char_ids, ops.arange(ops.shape(char_ids)[0], dtype="int32")


def _without_repeated_end(words: Any, widest: int) -> Any:
    """Leaves one window, for each width, of the character that ends all words."""
    import tensorflow as tf

    goes_on = tf.reduce_any(words != words[:, -1:], axis=0)
    place = tf.range(1, words.shape[-1] + 1)
    longest = tf.reduce_max(tf.where(goes_on, place, 0))
    return words[:, : longest + widest]
