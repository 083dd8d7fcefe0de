"""Splits many texts into tokens at once, with TensorFlow or without."""

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any

from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.text.unspaced import FirstText
from keras_elmo.utils.lazy import has_tensorflow, tf

# The tokens of n texts one after the other, and n + 1 limits.
Splitter = Callable[[Sequence[Any]], tuple[list[bytes], list[int]]]


def text_splitter(tokenizer: str | PlainTokenizer) -> Splitter:
    """Returns what splits texts, and warns of the first if it has no spaces.

    Args:
        tokenizer: the kind of `Tokenizer`, or one without TensorFlow, which any kind is
            where TensorFlow is not installed.
    """
    if isinstance(tokenizer, str) and not has_tensorflow():
        tokenizer = PlainTokenizer(tokenizer)
    split = (
        _plain(tokenizer)
        if isinstance(tokenizer, PlainTokenizer)
        else _with_tensorflow(tokenizer)
    )
    look_at = FirstText()

    def split_texts(texts: Sequence[Any]) -> tuple[list[bytes], list[int]]:
        look_at(texts)
        return split(texts)

    return split_texts


def _plain(tokenizer: PlainTokenizer) -> Splitter:
    def split(texts: Sequence[Any]) -> tuple[list[bytes], list[int]]:
        sentences = tokenizer(texts)
        limits = [0, *accumulate(map(len, sentences))]
        return list(chain.from_iterable(sentences)), limits

    return split


def _with_tensorflow(tokenizer: str) -> Splitter:
    from keras_elmo.text.tokenizer import Tokenizer

    tokenize = Tokenizer(tokenizer).ragged

    def split(texts: Sequence[Any]) -> tuple[list[bytes], list[int]]:
        # On a GPU the index arithmetic would cost transfers.
        with tf.device("CPU"):
            ragged = tokenize(texts)
            return ragged.values.numpy().tolist(), ragged.row_splits.numpy().tolist()

    return split
