"""The places of a text where a word means what it means here."""

import heapq
import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, tee
from typing import Any, NamedTuple

import numpy as np

from keras_elmo.embedding.embedder import embed
from keras_elmo.files.loading import load
from keras_elmo.models.encoder import Encoder
from keras_elmo.text.batching import tokenized_lines
from keras_elmo.text.lines import expand_files, is_text, read_lines
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.checks import check_positive

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
    for tokens in tokenized_lines(lines, tokenizer or "whitespace", CorpusStats()):
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


class Occurrence(NamedTuple):
    """A token of a text, and how close it is to the one that was asked for.

    Attributes:
        cosine: of the two contextual vectors.
        sentence: the tokens around it.
        position: which of them it is, from 0.
    """

    cosine: float
    sentence: list[str]
    position: int

    @property
    def word(self) -> str:
        return self.sentence[self.position]


def nearest(
    model: Encoder | str | os.PathLike[str],
    word: str,
    sentence: Sentence,
    corpus: Any,
    num: int = 10,
    layer: int = -1,
    among: Callable[[str], bool] | None = None,
) -> list[Occurrence]:
    """Finds the tokens of a text whose contextual vectors are closest to a word's.

    The text is read once and not kept, however long it is.

    Args:
        model: an `Encoder`, or what `load` takes.
        word: a token of `sentence`, spelt in Unicode's composed form or, where the
            sentence is text, in any; if it comes more than once, the first counts.
        sentence: text, or a list of tokens.
        corpus: text files, as paths or glob patterns, a sentence a line; or sentences,
            as lists of tokens.
        num: how many to return.
        layer: whose vectors are compared, from 0, that of the token alone, or from the
            end, -1 for the highest.
        among: which tokens of the text are compared, `str.isalpha` for one; all if
            `None`.

    Returns:
        The closest occurrences, the closest first. One that stands at the same place
        of the same sentence as another, or as `word` itself, is left out.

    Raises:
        TypeError: a sentence of `corpus` is not a list of tokens, or `model` is neither
            an encoder nor a name or path of one.
        ValueError: `word` is no token of `sentence`, a token is empty, there is no such
            model or file, the model has no such layer, or `num` is not positive.

    Reference: Peters et al. 2018, table 4.
    """
    encoder = model if isinstance(model, Encoder) else load(model)
    check_positive(num=num)
    layers = encoder.config.num_layers + 1
    if not -layers <= layer < layers:
        raise ValueError(
            f"`layer` must be one of the model's {layers}, {-layers} to {layers - 1}. "
            f"Received: layer={layer}"
        )
    tokens = read_sentence(sentence, encoder.tokenizer)
    if isinstance(sentence, str) and word not in tokens:
        # Spelt with other code points, it may be as the tokenizer has it.
        word = unicodedata.normalize("NFC", word)
    if word not in tokens:
        raise ValueError(
            f"`word` must be a token of the sentence, whose tokens are {tokens}. "
            f"Received: word={word!r}"
        )
    place = tokens.index(word)
    (found,) = embed(encoder, [tokens])
    query = _normalised(found[layer, place])

    closest: list[tuple[float, int, Occurrence]] = []
    known = {(place, *tokens)}
    number = count()
    candidates = _candidates(read_corpus(corpus, encoder.tokenizer), among)
    for each, compared, vectors in _embedded(encoder, candidates):
        cosines = _normalised(vectors[layer, compared]) @ query
        for k, cosine in zip(compared, cosines.tolist(), strict=True):
            if len(closest) == num and cosine <= closest[0][0]:
                continue
            if (k, *each) in known:
                continue
            known.add((k, *each))
            # Of equal ones, the first stays.
            entry = (cosine, -next(number), Occurrence(cosine, each, k))
            if len(closest) < num:
                heapq.heappush(closest, entry)
            else:
                heapq.heappushpop(closest, entry)
    return [occurrence for _, _, occurrence in sorted(closest, reverse=True)]


def _candidates(
    sentences: Iterable[list[str]], among: Callable[[str], bool] | None
) -> Iterator[tuple[list[str], list[int]]]:
    """Yields the sentences that have a token to compare, with its places."""
    for tokens in sentences:
        places = [k for k, token in enumerate(tokens) if among is None or among(token)]
        if places:
            yield tokens, places


def _embedded(
    encoder: Encoder, candidates: Iterable[tuple[list[str], list[int]]]
) -> Iterator[tuple[list[str], list[int], np.ndarray]]:
    # `embed` reads some sentences ahead: those alone are kept meanwhile.
    kept, given = tee(candidates)
    layers = embed(encoder, (tokens for tokens, _ in given))
    for (tokens, places), vectors in zip(kept, layers, strict=True):
        yield tokens, places, vectors


def _normalised(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
