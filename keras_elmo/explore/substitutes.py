"""What else could stand at a place of a sentence."""

import os
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_elmo.explore.nearest import Sentence, read_sentence
from keras_elmo.files.loading import load_language_model
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.character_ids import encode_tokens
from keras_elmo.text.vocabulary import SPECIALS
from keras_elmo.utils.checks import check_positive


class Substitute(NamedTuple):
    """A word, and how likely a language model finds it.

    Attributes:
        word: of the model's vocabulary.
        probability: by both directions.
        forward: by what stands before it.
        backward: by what stands behind it.
    """

    word: str
    probability: float
    forward: float
    backward: float


def substitutes(
    model: PretrainingModel | str | os.PathLike[str],
    sentence: Sentence,
    position: int,
    num: int = 10,
) -> list[Substitute]:
    """Finds the words that fit best between the others of a sentence.

    The two directions do not see the word itself. Their probabilities are multiplied
    and divided by the sum over all words, as if each were an expert of its own.

    Args:
        model: the language model, or what `load_language_model` takes.
        sentence: text, or a list of tokens.
        position: of the token to replace, from 0.
        num: how many to return.

    Returns:
        The most likely words, the most likely first; the token's own may be among
        them.

    Raises:
        TypeError: `model` is neither a language model nor a name or path of one.
        ValueError: the directory holds no language model, the model knows no words,
            the sentence has no such position or an empty token, or `num` is not
            positive.

    Reference: Peters et al. 2018, section 3.1; Hinton 2002, "Training products of
    experts by minimizing contrastive divergence", for the product.
    """
    check_positive(num=num)
    if not isinstance(model, PretrainingModel):
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
    forward, backward = _log_probabilities(model, tokens, position)
    words = model.vocabulary.words[len(SPECIALS) :]
    both = np.exp(_normalised(forward + backward))
    best = np.argsort(-both, kind="stable")[:num].tolist()
    return [
        Substitute(
            words[k],
            float(both[k]),
            float(np.exp(forward[k])),
            float(np.exp(backward[k])),
        )
        for k in best
    ]


def _log_probabilities(
    model: PretrainingModel, tokens: list[str], position: int
) -> np.ndarray:
    """Returns what each direction says of each word, one row a direction."""
    char_ids = ops.convert_to_tensor(encode_tokens(tokens))
    top = ops.convert_to_numpy(model.encoder(char_ids)[-1])[0]
    units = top.shape[-1] // 2
    # With the boundaries, the token stands at position + 1, between these two.
    hidden = np.stack([top[position, :units], top[position + 2, units:]])
    softmax = model.head.softmax
    kernel, bias = map(ops.convert_to_numpy, (softmax.kernel, softmax.bias))
    return _normalised((hidden @ kernel.T + bias)[:, len(SPECIALS) :])


def _normalised(logits: np.ndarray) -> np.ndarray:
    """Returns the logarithms of probabilities whose sum is 1."""
    return ops.convert_to_numpy(ops.log_softmax(logits, axis=-1))
