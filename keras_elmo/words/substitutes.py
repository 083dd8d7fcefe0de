"""Finds the words that could stand in place of a token."""

from itertools import islice
from typing import NamedTuple

import numpy as np

from keras_elmo.files.sources import Source
from keras_elmo.text.vocabulary import SPECIALS
from keras_elmo.utils.checks import (
    FLAGS,
    called,
    check_at_least,
    check_boolean,
    counted,
    is_integer,
    refuse,
)
from keras_elmo.words.predictions import Predictions, log_softmax
from keras_elmo.words.sentences import (
    Sentence,
    check_tokens,
    find_word,
    read_sentence,
)


class Substitute(NamedTuple):
    """A word, and its probabilities by a language model.

    Attributes:
        word: of the model's vocabulary.
        probability: given both sides.
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
    position: int | str,
    num: int = 10,
    *,
    skip_punctuation: bool = False,
    skip_word: bool = False,
    tokenizer: str | None = None,
) -> list[Substitute]:
    """Finds the words that a language model expects in place of a token.

    Neither direction sees the token itself. The probability of a word `w` is
    `p_f(w) p_b(w) / p(w)`, divided by its sum over the vocabulary: each direction has
    the prior `p(w)` in it, so the product has it once too often. The prior is the
    word's count in the training text, or log-uniform by its rank in a model that keeps
    no counts.

    Args:
        model: a language model, or a name or path as of `load_language_model`.
        sentence: text, or a list of tokens.
        position: of the token to replace, from 0; or the token, if the sentence has it
            once.
        num: number of words to return.
        skip_punctuation: whether to leave out words without a letter or a digit.
        skip_word: whether to leave out the token itself, in upper or lower case.
        tokenizer: how a text is split, a kind of `Tokenizer`; the model's if
            `None`.

    Returns:
        A list of `Substitute(word, probability, forward, backward)`, the most likely
        first. Probabilities are over the whole vocabulary, whatever is left out.

    Raises:
        TypeError: `model` is no language model.
        ValueError: there is no such language model, it has no vocabulary, the sentence
            has no such token, several of them or an empty one, or `num` is not
            positive.

    Example:

    ```python
    config = keras_elmo.ElmoConfig.preset("tiny")
    words = ["<S>", "</S>", "<UNK>", "bank", "boat", "river"]
    model = keras_elmo.build_pretraining_model(config, len(words), num_sampled=2)
    model.vocabulary = keras_elmo.Vocabulary(words)
    for substitute in keras_elmo.substitutes(model, "the boat sank", "boat", num=2):
        print(substitute.word, substitute.probability)
    ```

    Reference: Peters et al. 2018, section 3.1; Hinton 2002, "Training products of
    experts by minimizing contrastive divergence", for the product; Amrami and Goldberg
    2018, "Word sense induction with neural biLM and symmetric patterns", for
    substitutes from both directions.
    """
    check_at_least(1, num=num)
    check_boolean(skip_punctuation=skip_punctuation, skip_word=skip_word)
    predictions = Predictions(model, tokenizer)
    tokens = read_sentence(sentence, predictions.tokenizer)
    check_tokens(tokens)
    if isinstance(position, str):
        position = _only_position(position, tokens)
    if not is_integer(position) or not 0 <= position < len(tokens):
        number = counted(len(tokens), "token")
        rule = f"from 0 to {len(tokens) - 1}: the sentence has {number}"
        refuse("position", rule, position)
    replaced = tokens[position].casefold()
    (states,) = predictions.states([tokens])
    rows = word_probabilities(predictions, states, position)
    ranked = (
        Substitute(
            predictions.vocabulary.words[len(SPECIALS) + k], *rows[:, k].tolist()
        )
        for k in np.argsort(-rows[0], kind="stable").tolist()
    )
    kept = (
        substitute
        for substitute in ranked
        if not (skip_punctuation and not any(map(str.isalnum, substitute.word)))
        and not (skip_word and substitute.word.casefold() == replaced)
    )
    return list(islice(kept, num))


def _only_position(word: str, tokens: list[str]) -> int:
    """Returns the position of a word that a sentence has once."""
    # The command line has an option for the token, and another for its position.
    first = find_word(word, tokens, "word" if "word" in FLAGS.get() else "position")
    places = [k for k, token in enumerate(tokens) if token == tokens[first]]
    if len(places) > 1:
        *others, last = map(str, places)
        raise ValueError(
            f"the sentence has {word!r} {len(places)} times: {called('position')} must "
            f"be {', '.join(others)} or {last}"
        )
    return first


def word_probabilities(
    predictions: Predictions, states: np.ndarray, position: int
) -> np.ndarray:
    """Returns the probabilities of words in place of a token, `(3, words)`.

    The rows are given both sides, the tokens before, and the tokens after. The words
    are the vocabulary without the boundaries and the unknown word. `states` is the top
    layer with its boundaries.
    """
    directions = predictions.of_directions(states, np.array([position + 1]))
    both = predictions.of_both(directions, first=len(SPECIALS))
    return np.exp([*both, *log_softmax(directions[:, 0, len(SPECIALS) :])])
