"""Reads sentences and texts that are given as strings, lists of tokens or files."""

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeAlias

from keras_elmo.config import TOKENIZER_IF_UNKNOWN
from keras_elmo.text.batching import tokenized_lines
from keras_elmo.text.lines import expand_files, is_text, read_lines
from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.utils.types import StrPath

Sentence: TypeAlias = str | Sequence[str]
# The kind of a `Tokenizer`, or one without TensorFlow; `None` if it is not known.
Splitting: TypeAlias = str | PlainTokenizer | None
Text: TypeAlias = StrPath | Iterable[StrPath | Sequence[str]]

_EXPECTED = (
    "`corpus` must be a path or a list of paths of text files, or hold lists of tokens"
)


def read_sentence(sentence: Sentence, tokenizer: Splitting) -> list[str]:
    """Returns the tokens of a sentence; `None` is a tokenizer that is not known."""
    if isinstance(sentence, str):
        (tokens,) = _tokenize([sentence], tokenizer)
        return tokens
    if "" in sentence:
        raise ValueError(
            "`sentence` must hold tokens that are not empty. "
            f"Received: sentence={list(sentence)}"
        )
    return list(sentence)


def read_corpus(corpus: Any, tokenizer: Splitting) -> Iterator[Sequence[str]]:
    if not is_text(corpus):
        return map(_check_tokens, corpus)
    try:
        files = expand_files(corpus)
    except ValueError as error:
        raise ValueError(f"{_EXPECTED}: {error}") from error
    return _tokenize(read_lines(files), tokenizer)


def _tokenize(lines: Iterable[str], tokenizer: Splitting) -> Iterator[list[str]]:
    # The published models, whose files name no tokenizer, were trained on tokens.
    for tokens in tokenized_lines(lines, tokenizer or TOKENIZER_IF_UNKNOWN):
        yield [token.decode() for token in tokens]


def _check_tokens(sentence: StrPath | Sequence[str]) -> Sequence[str]:
    if isinstance(sentence, str | bytes | os.PathLike):
        raise TypeError(f"{_EXPECTED}. Received: a sentence {sentence!r}")
    if "" in sentence:
        raise ValueError(
            "a sentence of `corpus` must hold tokens that are not empty. "
            f"Received: {list(sentence)}"
        )
    return sentence


def read_sentences(
    sentences: Iterable[Sentence], tokenizer: Splitting
) -> Iterator[list[str]]:
    """Yields the tokens of sentences; strings that follow each other are cut at once.

    Raises:
        TypeError: `sentences` is a string.
    """
    if isinstance(sentences, str):
        raise TypeError(
            "`sentences` must be a list of sentences, [sentence] for one. "
            f"Received: sentences={sentences!r}"
        )

    def read() -> Iterator[list[str]]:
        for is_string, group in groupby(sentences, lambda each: isinstance(each, str)):
            if is_string:
                yield from _tokenize(map(str, group), tokenizer)
            else:
                yield from (read_sentence(each, tokenizer) for each in group)

    return read()


def find_word(word: str, tokens: list[str], argument: str = "word") -> int:
    """Returns the first position of a word among tokens.

    Raises:
        ValueError: it is none of them.
    """
    for spelling in (word, unicodedata.normalize("NFC", word)):
        # The tokenizer composes characters.
        if spelling in tokens:
            return tokens.index(spelling)
    raise ValueError(
        f"`{argument}` must be a token of the sentence, whose tokens are {tokens}. "
        f"Received: {argument}={word!r}"
    )
