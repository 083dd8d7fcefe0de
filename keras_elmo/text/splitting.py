"""Splits many texts into tokens at once, with TensorFlow or without.

Warns of text in languages that put no spaces between words.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.utils.lazy import has_tensorflow, tf

# Splits each text into tokens.
Splitter = Callable[[Sequence[Any]], list[list[bytes]]]

# Thai and Lao; Burmese; Khmer; kana; Chinese characters.
_LETTERS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
# Characters that are looked at.
_CHARACTERS = 20_000
# A word has fewer letters of these scripts, on average.
_LONGEST = 8
# Tenths of the letters; a name in brackets has fewer.
_LEAST = 3


def text_splitter(tokenizer: str | PlainTokenizer) -> Splitter:
    """Returns what splits texts, and warns of the first if it has no spaces.

    Where TensorFlow is not installed, every kind is split without it.
    """
    split: Splitter
    if isinstance(tokenizer, PlainTokenizer):
        split = tokenizer
    else:
        kind = _with_tensorflow if has_tensorflow() else PlainTokenizer
        split = kind(tokenizer)
    look_at = FirstText()

    def split_texts(texts: Sequence[Any]) -> list[list[bytes]]:
        look_at(texts)
        return split(texts)

    return split_texts


def _with_tensorflow(tokenizer: str) -> Splitter:
    from keras_elmo.text.tokenizer import Tokenizer

    tokenize = Tokenizer(tokenizer).ragged

    def split(texts: Sequence[Any]) -> list[list[bytes]]:
        # On a GPU the index arithmetic would cost transfers.
        with tf.device("CPU"):
            ragged = tokenize(texts)
            tokens = ragged.values.numpy().tolist()
            limits = ragged.row_splits.numpy().tolist()
        return [tokens[start:end] for start, end in pairwise(limits)]

    return split


def unspaced(texts: Iterable[str | bytes]) -> str | None:
    """Returns a warning if words of texts have no spaces between them, else `None`."""
    text = ""
    for part in texts:
        text += " " + (part if isinstance(part, str) else part.decode(errors="replace"))
        if len(text) >= _CHARACTERS:
            break
    text = text[:_CHARACTERS]
    counts = [len(_LETTERS.findall(part)) for part in text.split()]
    parts = list(filter(None, counts))
    number = sum(parts)
    spaced = sum(map(str.isalpha, _LETTERS.sub("", text)))
    # Tenths, so that the next text does not warn anew.
    share = round(10 * number / max(number + spaced, 1))
    if share < _LEAST or number <= _LONGEST * len(parts):
        return None
    return (
        f"about {10 * share} % of the letters are of a language without spaces between "
        "words, of which each phrase becomes one word: segment the text before, and "
        "give the tokenizer whitespace; docs/faq.md names segmenters"
    )


class FirstText:
    """Warns if the first text that is not ASCII has no spaces between its words."""

    def __init__(self) -> None:
        self._is_seen = False

    def __call__(self, texts: Iterable[str | bytes]) -> None:
        """Looks at texts, unless there was one to look at already."""
        if self._is_seen or all(text.isascii() for text in texts):
            return
        self._is_seen = True
        if warning := unspaced(texts):
            warnings.warn(warning, stacklevel=3)
