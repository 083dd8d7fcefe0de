"""Text, words and ids, told apart by type and rank, to character ids."""

import keras
import numpy as np

from keras_elmo.text.character_ids import CharacterIds, character_ids
from keras_elmo.text.tokenizer import Tokenizer, padded
from keras_elmo.token_vocabulary import TokenVocabulary
from keras_elmo.utils.lazy import do_not_convert, tf
from keras_elmo.utils.types import Shape, Tensor


def is_text(inputs: Tensor) -> bool:
    """Whether tensors, arrays or nested lists hold strings."""
    dtype = getattr(inputs, "dtype", None)
    if dtype is None:
        first = next(iter(keras.tree.flatten(inputs)), None)
        return isinstance(first, str | bytes)
    # NumPy has strings of four kinds.
    return "string" in str(dtype) or getattr(dtype, "kind", "") in set("OSTU")


@do_not_convert
def char_ids_of(
    inputs: Tensor, tokenizer: str, vocabulary: TokenVocabulary | None
) -> Tensor:
    """Returns the character ids of text or words; in a functional model, as layers.

    Args:
        inputs: strings: text `(batch,)`, or words `(batch, tokens)`, padded with `""`,
            ragged, or as lists.
        tokenizer: the kind of `Tokenizer` for text.
        vocabulary: as of `CharacterIds`.
    """
    if isinstance(inputs, keras.KerasTensor):
        text = _is_whole_text(inputs.shape)
        tokens = Tokenizer(tokenizer)(inputs) if text else inputs
        return CharacterIds(vocabulary)(tokens)
    if isinstance(inputs, list | tuple):
        inputs = tf.ragged.constant(inputs, tf.string)
    elif not tf.is_tensor(inputs):
        inputs = tf.convert_to_tensor(np.asarray(inputs, object), tf.string)
    if isinstance(inputs, tf.RaggedTensor):
        _check_axes(inputs.shape, most=2)
        return character_ids(padded(inputs), vocabulary)
    if _is_whole_text(inputs.shape):
        inputs = padded(Tokenizer(tokenizer).ragged(inputs))
    return character_ids(inputs, vocabulary)


def _is_whole_text(shape: Shape) -> bool:
    """Whether a string is a text; otherwise it is a word."""
    _check_axes(shape, most=2)
    return len(shape) == 1


def check_not_negative(char_ids: Tensor) -> None:
    """Refuses negative ids, for which Keras would take the last ones.

    A graph that is traced does not know its numbers.
    """
    try:
        least = np.min(keras.ops.convert_to_numpy(char_ids), initial=0)
    except (NotImplementedError, TypeError):
        return
    if least < 0:
        raise ValueError(
            "`char_ids` must not be negative, 0 is a masked position. "
            f"Received: char_ids with {least}"
        )


def check_ids(inputs: Tensor) -> Tensor:
    """Returns ids, or lists of them, if they have three axes."""
    if not hasattr(inputs, "shape"):
        inputs = np.asarray(inputs)
    _check_axes(inputs.shape, least=3, most=3)
    return inputs


def _check_axes(shape: Shape, least: int = 1, most: int = 3) -> None:
    if not least <= len(shape) <= most:
        raise ValueError(
            "`inputs` must be text `(batch,)` or words `(batch, tokens)`, both of "
            "strings, or character ids `(batch, tokens + 2, ids_per_token)`. "
            f"Received: inputs.shape={tuple(shape)}"
        )
