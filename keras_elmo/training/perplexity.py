"""Perplexity of held-out text."""

import math
import os
from collections.abc import Iterable

import numpy as np

from keras_elmo.files.loading import open_model
from keras_elmo.files.sources import Source, tokenizer_of
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.line_sources import with_kind
from keras_elmo.text.lines import Files
from keras_elmo.text.vocabulary import UNKNOWN
from keras_elmo.training.training_data import Batches, check_batch, count_words
from keras_elmo.utils.checks import called, check_type, refuse


def perplexity(
    model: Source,
    corpus: Files | Batches | Iterable[object],
    *,
    tokenizer: str | None = None,
) -> dict[str, float]:
    """Returns the perplexity of a language model on held-out text.

    `exp(-mean log p(token))` with the exact softmax, each sentence on its own. The
    forward direction predicts every word and the end of the sentence, the backward
    direction every word and its start.

    Args:
        model: a `PretrainingModel`, or what `load_language_model` takes.
        corpus: text files, as paths or glob patterns, a folder that `prepare` wrote, or
            an iterable of texts or of lists of tokens, if the model has a vocabulary; a
            `Corpus`; or batches of `char_ids` and `token_ids`.
        tokenizer: how text files are split, a kind of `Tokenizer`; that of the model
            if `None`.

    Returns:
        Dictionary of `forward` and `backward`, the perplexity of each direction;
        `mean`, that of the directions' mean log likelihood; `tokens`, the number of
        predictions of a direction; `unknown_rate`, the share of words that the
        vocabulary lacks, 0 to 1. Perplexities of different vocabularies do not compare.

    Raises:
        ValueError: there is no such language model; `corpus` holds no sentence, or has
            another vocabulary; or it is text and the model has no vocabulary; or
            `tokenizer` is another one, or given for a corpus that is split already.

    Example:

    ```python
    config = keras_elmo.ElmoConfig.preset("tiny")
    model = keras_elmo.build_pretraining_model(config, 10, num_sampled=4)
    char_ids = keras_elmo.CharacterIds()([["the", "bank"]])
    batch = {"char_ids": char_ids, "token_ids": np.array([[0, 3, 4, 1]])}
    measured = keras_elmo.perplexity(model, [batch])
    print(measured["mean"], measured["tokens"])  # about 10, and 3 predictions
    ```

    Reference: Peters et al. 2018, section 3.1 and 3.4.
    """
    check_type(
        (Iterable, Corpus, os.PathLike),
        "text files, a Corpus or batches",
        corpus=corpus,
    )
    model = open_model(model).language_model()
    text, kind = with_kind(corpus)
    if kind is not None:
        if model.vocabulary is None:
            rule = "a Corpus, or batches, for a model without a vocabulary"
            refuse("corpus", rule, corpus)
        if kind != "tokens":
            tokenizer = str(tokenizer_of(model.encoder, tokenizer))
        text = Corpus(
            text,
            model.vocabulary,
            tokenizer,
            token_vocabulary=model.config.token_vocabulary,
        )
    elif tokenizer is not None:
        refuse("tokenizer", "None for a corpus that is split already", tokenizer)
    if isinstance(text, Corpus):
        known = model.vocabulary
        if known is not None and text.vocabulary.words != known.words:
            raise ValueError("`corpus` must have the vocabulary of `model`")
        shapes = text.choose_shapes(measured=True)
        batches = text.batches(shuffle=False, shapes=shapes)
    else:
        batches = iter(text)
    losses = dict.fromkeys(("forward", "backward"), 0.0)
    tokens = words = unknown = 0
    for batch in batches:
        check_batch(batch)
        for direction, loss in model.exact_losses(batch).items():
            losses[direction] += float(np.sum(loss, dtype="float64"))
        words_of_batch, predictions = count_words(batch)
        words += words_of_batch
        tokens += predictions
        unknown += int(np.sum(np.asarray(batch["token_ids"]) == UNKNOWN))
    if tokens == 0:
        raise ValueError(f"{called('corpus')} must hold a sentence. Received: no batch")
    means = {direction: loss / tokens for direction, loss in losses.items()}
    return {
        "forward": _exp(means["forward"]),
        "backward": _exp(means["backward"]),
        "mean": _exp((means["forward"] + means["backward"]) / 2),
        "tokens": tokens,
        "unknown_rate": unknown / max(words, 1),
    }


def _exp(loss: float) -> float:
    # A model that has diverged: infinite, not an error.
    return math.exp(loss) if loss < 700 else math.inf
