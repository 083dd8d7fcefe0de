"""Finds the words that could stand in place of a token."""

from typing import NamedTuple

import numpy as np
from keras import ops

from keras_elmo.explore.nearest import Sentence, read_sentence
from keras_elmo.files.loading import Source, load_language_model
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.character_ids import encode_tokens
from keras_elmo.text.vocabulary import SPECIALS
from keras_elmo.utils.checks import check_positive


class Substitute(NamedTuple):
    """A word, and its probabilities by a language model.

    Attributes:
        word: of the model's vocabulary.
        probability: by both directions.
        forward: given the tokens before.
        backward: given the tokens after.
    """

    word: str
    probability: float
    forward: float
    backward: float


def substitutes(
    model: Source,
    sentence: Sentence,
    position: int,
    num: int = 10,
) -> list[Substitute]:
    """Finds the words that a language model expects in place of a token.

    Neither direction sees the token itself. The probability of a word is the product of
    both directions' probabilities, divided by its sum over the vocabulary.

    Args:
        model: a language model, or a name or path as of `load_language_model`.
        sentence: text, or a list of tokens.
        position: of the token to replace, from 0.
        num: number of words to return.

    Returns:
        A list of `Substitute(word, probability, forward, backward)`, the most likely
        first. The token itself may be among them.

    Raises:
        TypeError: `model` is neither a language model nor a name or path.
        ValueError: there is no such language model, it has no vocabulary, the sentence
            has no such position or an empty token, or `num` is not positive.

    Example:

    ```python
    config = keras_elmo.ElmoConfig.preset("tiny")
    words = ["<S>", "</S>", "<UNK>", "bank", "boat", "river"]
    model = keras_elmo.build_pretraining_model(config, len(words), num_sampled=2)
    model.vocabulary = keras_elmo.Vocabulary(words)
    for each in keras_elmo.substitutes(model, ["the", "boat", "sank"], 1, num=2):
        print(each.word, each.probability)
    ```

    Reference: Peters et al. 2018, section 3.1; Hinton 2002, "Training products of
    experts by minimizing contrastive divergence", for the product.
    """
    check_positive(num=num)
    model = load_language_model(model)
    if model.vocabulary is None:
        raise ValueError(
            "`model` must have a vocabulary. Received: model=" + model.name
        )
    tokens = read_sentence(sentence, model.encoder.tokenizer)
    if not 0 <= position < len(tokens):
        raise ValueError(
            f"`position` must be one of the sentence's {len(tokens)} tokens, from 0. "
            f"Received: position={position}"
        )
    logs = _log_probabilities(model, tokens, position)
    rows = np.exp([_log_softmax(logs.sum(0)), *logs])
    best = np.argsort(-rows[0], kind="stable")[:num]
    words = model.vocabulary.words[len(SPECIALS) :]
    return [Substitute(words[k], *rows[:, k].tolist()) for k in best]


def _log_probabilities(
    model: PretrainingModel, tokens: list[str], position: int
) -> np.ndarray:
    """Returns the logarithms of the words' probabilities, a row for each direction."""
    char_ids = ops.convert_to_tensor(encode_tokens(tokens))
    top = ops.convert_to_numpy(model.encoder(char_ids)[-1])[0]
    units = top.shape[-1] // 2
    # With the boundaries, the token is at position + 1, between these two.
    hidden = np.stack([top[position, :units], top[position + 2, units:]])
    softmax = model.head.softmax
    kernel, bias = map(ops.convert_to_numpy, (softmax.kernel, softmax.bias))
    return _log_softmax((hidden @ kernel.T + bias)[:, len(SPECIALS) :])


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    return ops.convert_to_numpy(ops.log_softmax(logits, axis=-1))
