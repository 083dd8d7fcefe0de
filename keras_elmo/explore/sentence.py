"""Sentences as a person gives them."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from keras_elmo.text.lines import expand_files, is_text, read_lines
from keras_elmo.text.report import Report
from keras_elmo.text.token_chunks import tokenized_lines

Sentence = str | Sequence[str]

_EXPECTED = (
    "`corpus` must be a path or a list of paths of text files, or hold lists of tokens"
)


def read_sentence(sentence: Sentence, tokenizer: str | None) -> list[str]:
    """Returns the tokens of a sentence.

    Args:
        sentence: text, or tokens, which stay as they are.
        tokenizer: the kind of `Tokenizer` of the model; `None` if it is not known.

    Raises:
        ValueError: a token is empty, which stands for padding.
    """
    if not isinstance(sentence, str):
        if "" in sentence:
            raise ValueError(
                "`sentence` must hold tokens that are not empty. "
                f"Received: sentence={list(sentence)}"
            )
        return list(sentence)
    (tokens,) = _tokens([sentence], tokenizer)
    return tokens


def read_corpus(corpus: Any, tokenizer: str | None) -> Iterator[list[str]]:
    """Yields the tokens of each line of text files, or of each sentence.

    Args:
        corpus: paths or glob patterns of text files, or lists of tokens.
        tokenizer: as above.

    Raises:
        TypeError: a sentence is a string or a path instead of a list of tokens.
        ValueError: there is no such file, or a token is empty.
    """
    if not is_text(corpus):
        return map(_as_tokens, corpus)
    try:
        files = expand_files(corpus)
    except ValueError as error:
        raise ValueError(f"{_EXPECTED}: {error}") from error
    return _tokens(read_lines(files), tokenizer)


def _tokens(lines: Any, tokenizer: str | None) -> Iterator[list[str]]:
    # Published weights do not say; their text was tokenised.
    for tokens in tokenized_lines(lines, tokenizer or "whitespace", Report()):
        yield [token.decode() for token in tokens]


def _as_tokens(sentence: Sequence[str]) -> list[str]:
    if isinstance(sentence, str | bytes | os.PathLike):
        raise TypeError(f"{_EXPECTED}. Received: a sentence {sentence!r}")
    if "" in sentence:
        raise ValueError(
            "a sentence of `corpus` must hold tokens that are not empty. "
            f"Received: {list(sentence)}"
        )
    return list(sentence)
