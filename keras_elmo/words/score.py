"""Log likelihoods of sentences and of their words."""

from collections.abc import Iterable, Iterator
from itertools import tee
from typing import NamedTuple

import numpy as np

from keras_elmo.files.sources import Source
from keras_elmo.text.batching import split_stream
from keras_elmo.text.token_lists import Sentence, read_sentences
from keras_elmo.text.vocabulary import END, START, UNKNOWN
from keras_elmo.utils.checks import check_at_least
from keras_elmo.utils.types import Tensor
from keras_elmo.words.predictions import Predictions

# Positions of the sentences that are scored at a time, and the probabilities in memory.
_POSITIONS = 4096
_PROBABILITIES = 1 << 22


class Score(NamedTuple):
    """Log likelihoods of a sentence, in nats.

    Attributes:
        tokens: of the sentence.
        forward: of the sentence, `log p(w_1 .. w_n, end)`, from left to right.
        backward: of the sentence, `log p(start, w_1 .. w_n)`, from right to left.
        pseudo: pseudo-log-likelihood, the sum of `token_pseudo`.
        token_forward: `(tokens,)`, of each token given those before it.
        token_backward: `(tokens,)`, of each token given those after it.
        token_pseudo: `(tokens,)`, of each token given both sides.
        unknown: the tokens that the vocabulary lacks.
    """

    tokens: list[str]
    forward: float
    backward: float
    pseudo: float
    token_forward: np.ndarray
    token_backward: np.ndarray
    token_pseudo: np.ndarray
    unknown: list[str]


def score(
    model: Source,
    sentences: Iterable[Sentence] | Tensor,
    batch_size: int = 32,
    *,
    tokenizer: str | None = None,
) -> Iterator[Score]:
    """Yields the log likelihood of each sentence and token, in the order given.

    Forward, `sum_k log p(w_k | w_1 .. w_k-1)`, and backward,
    `sum_k log p(w_k | w_k+1 .. w_n)`, by the exact softmax, each sentence on its own.
    Given both sides, a word `w` has the likelihood `p_f(w) p_b(w) / p(w)`, divided by
    its sum over the vocabulary: each direction has the prior `p(w)` in it. A sum
    compares sentences of equal length; to compare others, divide by the number of
    tokens.

    The model predicts `<UNK>` for all words that its vocabulary lacks together. One of
    them is taken to be as frequent as the rarest known word, by the counts of the
    vocabulary, or log-uniform by rank, and gets that share of the probability.

    Args:
        model: a language model, or a name or path as of `load_language_model`.
        sentences: texts, lists of tokens, or both; an array; or one text: as `embed`.
        batch_size: greatest number of sentences in a batch.
        tokenizer: how texts are split, a kind of `Tokenizer`; the model's if
            `None`.

    Yields:
        `Score(tokens, forward, backward, pseudo, token_forward, token_backward,
        token_pseudo, unknown)`, in nats.

    Raises:
        TypeError: `model` is no language model, or `sentences` is of another type.
        ValueError: there is no such language model, it has no vocabulary, a token is
            empty, or `batch_size` is not positive.

    Example:

    ```python
    config = keras_elmo.ElmoConfig.preset("tiny")
    words = ["<S>", "</S>", "<UNK>", "the", "boat", "boats", "sinks"]
    model = keras_elmo.build_pretraining_model(config, len(words), num_sampled=2)
    model.vocabulary = keras_elmo.Vocabulary(words)
    good, bad = keras_elmo.score(model, ["the boat sinks", "the boats sinks"])
    print("better:", good.tokens if good.forward > bad.forward else bad.tokens)
    print(dict(zip(good.tokens, good.token_pseudo)))
    ```

    Reference: Peters et al. 2018, section 3.1; Besag 1975, "Statistical analysis of
    non-lattice data", for the pseudo-likelihood; Park et al. 2010, "Improved neural
    network based language modelling and adaptation", for words beyond a vocabulary.
    """
    check_at_least(1, batch_size=batch_size)
    predictions = Predictions(model, tokenizer)
    read = read_sentences(sentences, predictions.tokenizer, max_ahead=_POSITIONS)
    tokens = ([token.decode() for token in sentence] for sentence in read)
    return score_tokens(predictions, tokens, batch_size)


def score_tokens(
    predictions: Predictions, sentences: Iterable[list[str]], batch_size: int
) -> Iterator[Score]:
    """Yields the scores of tokens, as `score`."""
    # `states` reads some sentences ahead: only those are kept meanwhile.
    kept, ahead = tee(sentences)
    pairs = zip(kept, predictions.states(ahead, batch_size), strict=True)
    for part in split_stream(pairs, lambda pair: len(pair[1]), _POSITIONS, _POSITIONS):
        ids = [
            np.array([START, *predictions.vocabulary.ids(tokens), END])
            for tokens, _ in part
        ]
        states = np.concatenate([states for _, states in part])
        likelihoods = _likelihoods(predictions, states, np.concatenate(ids))
        limits = np.cumsum([len(sentence) for sentence in ids])[:-1]
        for (tokens, _), sentence_ids, rows in zip(
            part, ids, np.split(likelihoods, limits, axis=1), strict=True
        ):
            forward, backward, both = rows.astype("float64")
            yield Score(
                tokens,
                # The first place has nothing before it, the last one nothing after it.
                forward=float(forward[1:].sum()),
                backward=float(backward[:-1].sum()),
                pseudo=float(both[1:-1].sum()),
                token_forward=forward[1:-1],
                token_backward=backward[1:-1],
                token_pseudo=both[1:-1],
                unknown=[
                    tokens[k] for k in np.flatnonzero(sentence_ids[1:-1] == UNKNOWN)
                ],
            )


def _likelihoods(
    predictions: Predictions, states: np.ndarray, ids: np.ndarray
) -> np.ndarray:
    """Returns the log likelihoods of the ids: forward, backward, given both sides."""
    block = max(1, _PROBABILITIES // len(predictions.vocabulary))
    blocks = []
    for first in range(0, len(ids), block):
        at = ids[first : first + block]
        places = np.arange(first, first + len(at))
        directions = predictions.of_directions(states, places)
        both = predictions.of_both(directions)
        rows = np.arange(len(at))
        # A boundary is no word: its likelihood given both sides is left out later.
        word = both[rows, np.maximum(at, UNKNOWN) - UNKNOWN]
        blocks.append(np.stack([*directions[:, rows, at], word]))
    likelihoods = np.concatenate(blocks, axis=1)
    likelihoods[:, ids == UNKNOWN] += predictions.log_share
    return likelihoods
