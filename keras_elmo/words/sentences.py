"""Reads sentences and texts that are given as strings, lists of tokens or files."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from keras_elmo.text.batching import tokenized_lines
from keras_elmo.text.lines import are_files, expand_files, read_lines
from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.utils.checks import called, check_type, refuse
from keras_elmo.utils.types import StrPath

Sentence: TypeAlias = str | Sequence[str]
# The kind of a `Tokenizer`, or one without TensorFlow.
Splitting: TypeAlias = str | PlainTokenizer
Text: TypeAlias = StrPath | Iterable[StrPath | Sequence[str]]

_EXPECTED = (
    "a path or a list of paths of text files, or hold lists of tokens, such as "
    "[['the', 'bank']]"
)


def read_sentence(sentence: Sentence, tokenizer: Splitting) -> list[str]:
    """Returns the tokens of a sentence."""
    if isinstance(sentence, str):
        (tokens,) = _tokenize([sentence], tokenizer)
        return tokens
    check_type(Iterable, "text or a list of tokens", sentence=sentence)
    tokens = list(sentence)
    if not _are_tokens(tokens):
        raise ValueError(
            "`sentence` must be text, or hold tokens that are not empty. "
            f"Received: sentence={tokens}"
        )
    return tokens


def read_corpus(corpus: Any, tokenizer: Splitting) -> Iterator[Sequence[str]]:
    if not are_files(corpus):
        check_type(Iterable, _EXPECTED, corpus=corpus)
        return map(_check_tokens, corpus)
    try:
        files = expand_files(corpus)
    except ValueError as error:
        raise ValueError(f"{called('corpus')} must be {_EXPECTED}: {error}") from error
    return _tokenize(read_lines(files), tokenizer)


def _tokenize(lines: Iterable[str], tokenizer: Splitting) -> Iterator[list[str]]:
    for tokens in tokenized_lines(lines, tokenizer):
        yield [token.decode() for token in tokens]


def _check_tokens(sentence: StrPath | Sequence[str]) -> Sequence[str]:
    if isinstance(sentence, str | bytes) or not isinstance(sentence, Sequence):
        raise TypeError(
            f"`corpus` must be {_EXPECTED}. Received: a sentence {sentence!r}"
        )
    if not _are_tokens(sentence):
        raise ValueError(
            "a sentence of `corpus` must hold tokens that are not empty. "
            f"Received: {list(sentence)}"
        )
    return sentence


def _are_tokens(sentence: Sequence[Any]) -> bool:
    return all(isinstance(token, str) and token for token in sentence)


def check_tokens(tokens: list[str]) -> None:
    """Raises a `ValueError` if a sentence has no tokens."""
    if not tokens:
        raise ValueError(f"{called('sentence')} must hold a token, and is empty")


def find_word(word: str, tokens: list[str], argument: str = "word") -> int:
    """Returns the first position of a word among tokens, or raises `ValueError`."""
    check_type(str, "a string", **{argument: word})
    check_tokens(tokens)
    for spelling in (word, unicodedata.normalize("NFC", word)):
        # The tokenizer composes characters.
        if spelling in tokens:
            return tokens.index(spelling)
    refuse(argument, f"a token of the sentence, whose tokens are {tokens}", word)
