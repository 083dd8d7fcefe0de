"""Contextual vectors of tokenised sentences."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from keras_elmo.models.encoder import Encoder
from keras_elmo.optional import import_tensorflow
from keras_elmo.text.character_ids import character_ids


def embed(
    model: Encoder, sentences: Iterable[Sequence[str]], batch_size: int = 32
) -> Iterator[np.ndarray]:
    """Yields the biLM's layers of each sentence, in the order given.

    Args:
        model: an `Encoder`.
        sentences: lists of tokens; read as far as the vectors are asked for.
        batch_size: sentences of a pass through the model.

    Yields:
        `(num_layers + 1, tokens, 2 * projection_units)` float32 arrays, without the
        sentence boundaries.

    Raises:
        TypeError: a sentence is a string instead of a list of tokens.
        ImportError: TensorFlow, which spells the tokens out, is not installed.
    """
    if batch_size < 1:
        raise ValueError(
            f"`batch_size` must be positive. Received: batch_size={batch_size}"
        )
    sentences = iter(sentences)
    while batch := list(islice(sentences, batch_size)):
        yield from _embed_batch(model, batch)


def _embed_batch(model: Encoder, batch: list[Sequence[str]]) -> Iterator[np.ndarray]:
    layers = model.predict_on_batch(_char_ids(batch))
    for row, sentence in enumerate(batch):
        yield np.stack([layer[row, 1 : len(sentence) + 1] for layer in layers])


def _char_ids(batch: list[Sequence[str]]) -> Any:
    for sentence in batch:
        if isinstance(sentence, str | bytes):
            raise TypeError(
                "`sentences` must hold lists of tokens. "
                f"Received: a sentence {sentence!r}"
            )
    tf = import_tensorflow("Spelling tokens out")
    ids = character_ids(tf.ragged.constant(batch, dtype=tf.string).to_tensor(""))
    return ids.numpy()
