"""Sentences as a person gives them."""

from collections.abc import Iterator, Sequence
from typing import Any

from keras_elmo.text.lines import expand_files, is_text, read_lines
from keras_elmo.text.report import Report
from keras_elmo.text.token_chunks import tokenized_lines

Sentence = str | Sequence[str]


def read_sentence(sentence: Sentence, tokenizer: str | None) -> list[str]:
    """Returns the tokens of a sentence.

    Args:
        sentence: text, or tokens, which stay as they are.
        tokenizer: the kind of `Tokenizer` of the model; `None` if it is not known.
    """
    if not isinstance(sentence, str):
        return list(sentence)
    (tokens,) = _tokens([sentence], tokenizer)
    return tokens


def read_corpus(corpus: Any, tokenizer: str | None) -> Iterator[list[str]]:
    """Yields the tokens of each line of text files, or of each sentence.

    Args:
        corpus: paths or glob patterns of text files, or lists of tokens.
        tokenizer: as above.

    Raises:
        TypeError: a sentence is a string instead of a list of tokens.
    """
    if is_text(corpus):
        return _tokens(read_lines(expand_files(corpus)), tokenizer)
    return map(_as_tokens, corpus)


def _tokens(lines: Any, tokenizer: str | None) -> Iterator[list[str]]:
    # Published weights do not say; their text was tokenised.
    for tokens in tokenized_lines(lines, tokenizer or "whitespace", Report()):
        yield [token.decode() for token in tokens]


def _as_tokens(sentence: Sequence[str]) -> list[str]:
    if isinstance(sentence, str | bytes):
        raise TypeError(
            "`corpus` must be paths of text files, or hold lists of tokens. "
            f"Received: a sentence {sentence!r}"
        )
    return list(sentence)
