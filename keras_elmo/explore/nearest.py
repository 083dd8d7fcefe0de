"""Finds the tokens of a text that mean the same as a word in its sentence."""

import heapq
import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import tee
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from keras_elmo.embedding.embedder import embed
from keras_elmo.files.loading import Source, load
from keras_elmo.models.encoder import Encoder
from keras_elmo.text.batching import tokenized_lines
from keras_elmo.text.lines import expand_files, is_text, read_lines
from keras_elmo.text.tokenizer import TOKENIZER_IF_UNKNOWN
from keras_elmo.utils.checks import check_positive
from keras_elmo.utils.types import StrPath

Sentence: TypeAlias = str | Sequence[str]
Text: TypeAlias = StrPath | Iterable[StrPath | Sequence[str]]
# A position in a sentence.
_Place: TypeAlias = tuple[int, tuple[str, ...]]

_EXPECTED = (
    "`corpus` must be a path or a list of paths of text files, or hold lists of tokens"
)


class Occurrence(NamedTuple):
    """A token of a text, and how close it is to the word that was asked for.

    Attributes:
        cosine: of the two contextual vectors.
        sentence: the tokens around it.
        position: of the token in the sentence, from 0.
    """

    cosine: float
    sentence: list[str]
    position: int

    @property
    def word(self) -> str:
        return self.sentence[self.position]


def nearest(
    model: Source,
    word: str,
    sentence: Sentence,
    corpus: Text,
    num: int = 10,
    layer: int = -1,
    among: Callable[[str], bool] | None = None,
) -> list[Occurrence]:
    """Finds the tokens of a text whose contextual vectors are closest to a word's.

    Vectors are compared by their cosine. The text is read once and not kept in memory.

    Args:
        model: an `Encoder`, or a name or path or another model as of `load`.
        word: a token of `sentence`; if it comes more than once, the first counts.
        sentence: text, or a list of tokens.
        corpus: text files, as paths or glob patterns, one sentence a line; or
            sentences, as lists of tokens.
        num: number of tokens to return.
        layer: of the vectors: 0 is the token without its context, -1 the top layer.
        among: which tokens of the text are compared, such as `str.isalpha`; all if
            `None`.

    Returns:
        A list of `Occurrence(cosine, sentence, position)`, the closest first. One at
        the same position of the same sentence as another, or as `word` itself, is left
        out.

    Raises:
        TypeError: a sentence of `corpus` is not a list of tokens, or `model` is no
            model.
        ValueError: `word` is no token of `sentence`, a token is empty, there is no such
            model, layer or file, or `num` is not positive.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    corpus = [["the", "bank", "lends", "money"], ["the", "bank", "of", "a", "river"]]
    for each in keras_elmo.nearest(
        encoder, "bank", ["on", "the", "bank"], corpus, num=2
    ):
        print(each.cosine, each.word, each.sentence)
    ```

    Reference: Peters et al. 2018, table 4.
    """
    encoder = load(model)
    check_positive(num=num)
    layers = encoder.config.num_layers + 1
    if not -layers <= layer < layers:
        raise ValueError(
            f"`layer` must be one of the model's {layers}, {-layers} to {layers - 1}. "
            f"Received: layer={layer}"
        )
    tokens = read_sentence(sentence, encoder.tokenizer)
    if isinstance(sentence, str) and word not in tokens:
        # The tokenizer composes characters.
        word = unicodedata.normalize("NFC", word)
    if word not in tokens:
        raise ValueError(
            f"`word` must be a token of the sentence, whose tokens are {tokens}. "
            f"Received: word={word!r}"
        )
    position = tokens.index(word)
    (vectors,) = embed(encoder, [tokens])
    query = _normalize(vectors[layer, position])

    closest: dict[_Place, float] = {}
    least = -np.inf
    sentences = _read_corpus(corpus, encoder.tokenizer)
    for found, compared, vectors in _embed_candidates(encoder, sentences, among):
        cosines = (_normalize(vectors[layer, compared]) @ query).tolist()
        for place, cosine in zip(compared, cosines, strict=True):
            if cosine > least and (place, found) != (position, tuple(tokens)):
                closest.setdefault((place, found), cosine)
        if len(closest) > 2 * num:
            closest = _greatest(closest, num)
            least = min(closest.values())
    return [
        Occurrence(cosine, list(found), place)
        for (place, found), cosine in _greatest(closest, num).items()
    ]


def _greatest(cosines: dict[_Place, float], num: int) -> dict[_Place, float]:
    """Returns the items of the greatest values, the greatest first."""
    return dict(heapq.nlargest(num, cosines.items(), key=itemgetter(1)))


def _embed_candidates(
    encoder: Encoder,
    sentences: Iterable[Sequence[str]],
    among: Callable[[str], bool] | None,
) -> Iterator[tuple[tuple[str, ...], list[int], np.ndarray]]:
    """Yields the sentences with tokens to compare, their positions, and the layers."""
    positions = (
        (
            tuple(tokens),
            [k for k, token in enumerate(tokens) if not among or among(token)],
        )
        for tokens in sentences
    )
    # `embed` reads some sentences ahead: only those are kept meanwhile.
    kept, ahead = tee(each for each in positions if each[1])
    layers = embed(encoder, (tokens for tokens, _ in ahead))
    for (tokens, compared), vectors in zip(kept, layers, strict=True):
        yield tokens, compared, vectors


def _normalize(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)


def read_sentence(sentence: Sentence, tokenizer: str | None) -> list[str]:
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


def _read_corpus(corpus: Any, tokenizer: str | None) -> Iterator[Sequence[str]]:
    if not is_text(corpus):
        return map(_check_tokens, corpus)
    try:
        files = expand_files(corpus)
    except ValueError as error:
        raise ValueError(f"{_EXPECTED}: {error}") from error
    return _tokenize(read_lines(files), tokenizer)


def _tokenize(lines: Iterable[str], tokenizer: str | None) -> Iterator[list[str]]:
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
