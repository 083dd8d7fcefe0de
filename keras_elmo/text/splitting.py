"""Splits many texts into tokens at once, with TensorFlow or without."""

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any

from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.utils.lazy import tf

# The tokens of n texts one after the other, and n + 1 limits.
Splitter = Callable[[Sequence[Any]], tuple[list[bytes], list[int]]]


def text_splitter(tokenizer: str | PlainTokenizer) -> Splitter:
    """Returns what splits texts.

    Args:
        tokenizer: the kind of `Tokenizer`, or one without TensorFlow.
    """
    if isinstance(tokenizer, PlainTokenizer):

        def split_plainly(
            texts: Sequence[Any],
        ) -> tuple[list[bytes], list[int]]:
            sentences = tokenizer(texts)
            limits = [0, *accumulate(map(len, sentences))]
            return list(chain.from_iterable(sentences)), limits

        return split_plainly
    from keras_elmo.text.tokenizer import Tokenizer

    tokenize = Tokenizer(tokenizer).ragged

    def split(texts: Sequence[Any]) -> tuple[list[bytes], list[int]]:
        # On a GPU the index arithmetic would cost transfers.
        with tf.device("CPU"):
            ragged = tokenize(texts)
            return ragged.values.numpy().tolist(), ragged.row_splits.numpy().tolist()

    return split
