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
    """
    if is_text(corpus):
        return _tokens(read_lines(expand_files(corpus)), tokenizer)
    return map(list, corpus)


def _tokens(lines: Any, tokenizer: str | None) -> Iterator[list[str]]:
    for tokens in tokenized_lines(lines, tokenizer or "unicode", Report()):
        yield [token.decode() for token in tokens]
