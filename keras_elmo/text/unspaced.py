"""Warns of text of languages that put no spaces between words."""

import re
import warnings
from collections.abc import Iterable

# Thai and Lao; Burmese; Khmer; kana; Chinese characters.
_LETTERS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
# Characters that are looked at; a word has fewer than so many of them, on average.
_CHARACTERS = 20_000
_LONGEST = 8
# Tenths of the letters; a name in brackets has fewer.
_LEAST = 3


def unspaced(texts: Iterable[str | bytes]) -> str | None:
    """Returns a warning if words of texts have no spaces between them, else `None`."""
    text = ""
    for each in texts:
        text += " " + (each if isinstance(each, str) else each.decode(errors="replace"))
        if len(text) >= _CHARACTERS:
            break
    text = text[:_CHARACTERS]
    counts = [len(_LETTERS.findall(part)) for part in text.split()]
    parts = list(filter(None, counts))
    number = sum(parts)
    others = sum(map(str.isalpha, _LETTERS.sub("", text)))
    # Tenths, so that one text after the other does not warn anew.
    share = round(10 * number / max(number + others, 1))
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
        if self._is_seen or all(map(_is_ascii, texts)):
            return
        self._is_seen = True
        if warning := unspaced(texts):
            warnings.warn(warning, stacklevel=3)


def _is_ascii(text: str | bytes) -> bool:
    return text.isascii()
