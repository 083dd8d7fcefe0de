"""A batch's distinct words, so that the character CNN reads each of them once."""

from typing import Any

import keras
from keras import ops


def distinct_words(char_ids: Any) -> tuple[Any, Any]:
    """Splits words into the distinct ones and where each word stands among them.

    `ops.take(words, positions, axis=0)` is `char_ids` again. Half the words of a
    batch of natural text are repetitions. Where the backend needs static shapes or
    has no such op, every word counts as distinct: the result is the same, the work
    is not.

    Args:
        char_ids: `(positions, characters)` integers.

    Returns:
        `words`, `(distinct, characters)`, and `positions`, `(positions,)` int32.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        # A masked word stands first, so that a batch without words has one to embed.
        padded = tf.pad(char_ids, [[1, 0], [0, 0]])
        words, positions = tf.raw_ops.UniqueV2(x=padded, axis=[0])
        words.set_shape((None, char_ids.shape[-1]))
        return words, positions[1:]
    return char_ids, ops.arange(ops.shape(char_ids)[0], dtype="int32")
