"""Sentences in any form to lists of tokens."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias, cast

import numpy as np

from keras_elmo.config import TOKENIZER_IF_UNKNOWN, TOKENIZERS
from keras_elmo.files.loading import AnyEncoder
from keras_elmo.files.onnx_encoder import OnnxEncoder
from keras_elmo.text.batching import Tokens, lines_of, split_stream
from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.text.splitting import text_splitter
from keras_elmo.utils.checks import check_choice
from keras_elmo.utils.types import Tensor

Sentence: TypeAlias = str | bytes | Sequence[str | bytes]

# Text that is tokenized at a time.
_CHUNK_CHARACTERS = 1_000_000


def tokenizer_of(
    encoder: AnyEncoder, tokenizer: str | None = None
) -> str | PlainTokenizer:
    """Returns the kind of `Tokenizer` for texts, or one without TensorFlow.

    Args:
        encoder: whose tokenizer it is, unless another is given.
        tokenizer: another kind, or `None`.
    """
    check_choice((None, *TOKENIZERS), tokenizer=tokenizer)
    kind = tokenizer or encoder.tokenizer or TOKENIZER_IF_UNKNOWN
    return PlainTokenizer(kind) if isinstance(encoder, OnnxEncoder) else kind


def read_sentences(
    sentences: Iterable[Sentence] | Tensor,
    tokenizer: str | PlainTokenizer,
    max_ahead: int,
) -> Iterator[Tokens]:
    """Yields the tokens of each sentence.

    Args:
        sentences: texts and lists of tokens; or a tensor or array of strings, texts
            `(sentences,)` or words `(sentences, tokens)`, ragged or padded with `""`.
        tokenizer: the kind of `Tokenizer` for texts, or one without TensorFlow.
        max_ahead: texts that are read before the first is yielded.

    Raises:
        TypeError: a sentence is neither of the two.
        ValueError: a token is empty.
    """
    rows = map(_without_tensors, _rows(sentences))
    for is_text, group in groupby(rows, lambda row: isinstance(row, str | bytes)):
        if not is_text:
            yield from map(utf8_tokens, group)
            continue
        chunks = split_stream(group, len, _CHUNK_CHARACTERS, max_ahead)
        yield from lines_of(map(text_splitter(tokenizer), chunks))


def _rows(sentences: Iterable[Sentence] | Tensor) -> Iterable[Tensor]:
    if isinstance(sentences, str | bytes):
        return [sentences]
    if hasattr(sentences, "to_list"):
        # A ragged tensor of TensorFlow.
        return sentences.to_list()
    if hasattr(sentences, "numpy"):
        sentences = sentences.numpy()
    return sentences


def _without_tensors(row: Tensor) -> Sentence:
    """Returns a text or a list of tokens that may be an array or a tensor."""
    row = row.numpy() if hasattr(row, "numpy") else row
    if not isinstance(row, np.ndarray):
        return row
    tokens = row.tolist()
    if isinstance(tokens, list):
        # It was as long as its longest row.
        while tokens and not tokens[-1]:
            tokens.pop()
    return tokens


def utf8_tokens(sentence: Sentence) -> Tokens:
    """Returns the tokens as bytes.

    Raises:
        TypeError: the sentence is a string, or no list of strings.
        ValueError: a token is empty.
    """
    if (
        isinstance(sentence, str | bytes)
        or not isinstance(sentence, Sequence)
        or not all(isinstance(token, str | bytes) for token in sentence)
    ):
        raise TypeError(
            f"`sentences` must hold lists of tokens. Received: a sentence {sentence!r}"
        )
    if not all(sentence):
        # At the end of a row it would be taken for padding.
        raise ValueError(
            "`sentences` must hold tokens that are not empty. "
            f"Received: a sentence {sentence!r}"
        )
    tokens = cast(Sequence[str | bytes], sentence)
    return [token if isinstance(token, bytes) else token.encode() for token in tokens]
