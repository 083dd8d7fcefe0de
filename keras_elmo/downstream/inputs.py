"""Makes character ids of text, words or ids, told apart by type and rank."""

from typing import NoReturn

import keras
import numpy as np
from keras import ops
from keras.backend import is_float_dtype, is_int_dtype, standardize_dtype

from keras_elmo.text.character_ids import CharacterIds, character_ids
from keras_elmo.text.string_layer import are_strings, padded
from keras_elmo.text.tokenizer import Tokenizer
from keras_elmo.token_vocabulary import TokenVocabulary
from keras_elmo.utils.lazy import do_not_convert, tf
from keras_elmo.utils.types import Shape, Tensor


class InputsError(ValueError, NotImplementedError):
    """Inputs have another type or number of axes.

    On `NotImplementedError`, `keras.Sequential` without an `Input` calls its layers one
    after the other: it has made an input of a type that the numbers do not have.
    """


def _refuse(shape: Shape, dtype: str) -> NoReturn:
    raise InputsError(
        "`inputs` must be text `(batch,)` or words `(batch, tokens)`, both of strings, "
        "character ids `(batch, tokens + 2, ids_per_token)` of integers, or the layers "
        "of `precompute`, `(batch, *layers_shape)` of floating-point numbers. A batch "
        "of documents needs keras.layers.TimeDistributed, a keras.Sequential on "
        "numbers a keras.Input. "
        f"Received: inputs.shape={tuple(shape)}, inputs.dtype={dtype}"
    )


def are_layers(inputs: Tensor, layers_shape: Shape) -> bool:
    """Whether inputs are what `precompute` returns, by their axes and type."""
    shape = tuple(getattr(inputs, "shape", ()))
    return (
        len(shape) == 4
        and all(
            None in (size, wanted) or size == wanted
            for size, wanted in zip(shape[1:], layers_shape, strict=True)
        )
        and not are_strings(inputs)
        and is_float_dtype(standardize_dtype(inputs.dtype))
    )


@do_not_convert
def make_char_ids(
    inputs: Tensor, tokenizer: str, vocabulary: TokenVocabulary | None
) -> Tensor:
    """Returns the character ids of text `(batch,)` or words `(batch, tokens)`.

    Words are padded with `""`, ragged, or lists. In a functional model, layers do it.
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
        _is_whole_text(inputs.shape)
        return character_ids(padded(inputs), vocabulary)
    if _is_whole_text(inputs.shape):
        inputs = padded(Tokenizer(tokenizer).ragged(inputs))
    return character_ids(inputs, vocabulary)


def _is_whole_text(shape: Shape) -> bool:
    """Whether a string is a text; otherwise it is a word."""
    if not 1 <= len(shape) <= 2:
        _refuse(shape, "string")
    return len(shape) == 1


def check_ids(inputs: Tensor, ids_per_token: int) -> Tensor:
    """Returns ids, or lists of them, as integers; refuses other shapes."""
    if not hasattr(inputs, "shape"):
        inputs = np.array(inputs)
    # `None`.
    if getattr(inputs.dtype, "kind", "") == "O":
        _refuse(inputs.shape, "object")
    dtype = standardize_dtype(inputs.dtype)
    if len(inputs.shape) == 3 and inputs.shape[-1] in (None, ids_per_token):
        if is_int_dtype(dtype):
            return inputs
        # Of a `keras.Input` without a type; smaller types do not hold all ids.
        if dtype in ("float32", "float64"):
            return ops.cast(inputs, "int32")
    _refuse(inputs.shape, dtype)
