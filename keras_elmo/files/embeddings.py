"""Contextual vectors of tokenised sentences."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from keras_elmo.models.encoder import Encoder
from keras_elmo.optional import import_tensorflow
from keras_elmo.text.character_ids import character_ids

# Sentences are sorted by length within so many batches, which leaves little padding.
_WINDOW_BATCHES = 16
# Positions of a pass; only a sentence that is longer on its own has more.
_MAX_POSITIONS = 16_384

Sentence = Sequence[str | bytes]


def embed(
    model: Encoder, sentences: Iterable[Sentence], batch_size: int = 32
) -> Iterator[np.ndarray]:
    """Yields the biLM's layers of each sentence, in the order given.

    Args:
        model: an `Encoder`.
        sentences: lists of tokens; read a window of batches ahead of the vectors.
        batch_size: sentences of a pass through the model at most.

    Yields:
        `(num_layers + 1, tokens, 2 * projection_units)` float32 arrays, without the
        sentence boundaries.

    Raises:
        TypeError: a sentence is a string instead of a list of tokens.
        ValueError: a token is empty, or `batch_size` is not positive.
        ImportError: TensorFlow, which spells the tokens out, is not installed.
    """
    if batch_size < 1:
        raise ValueError(
            f"`batch_size` must be positive. Received: batch_size={batch_size}"
        )
    sentences = iter(sentences)
    while window := list(islice(sentences, batch_size * _WINDOW_BATCHES)):
        for sentence in window:
            if isinstance(sentence, str | bytes):
                raise TypeError(
                    "`sentences` must hold lists of tokens. "
                    f"Received: a sentence {sentence!r}"
                )
            if not all(sentence):
                # At the end of a row it would be taken for padding.
                raise ValueError(
                    "`sentences` must hold tokens that are not empty. "
                    f"Received: a sentence {sentence!r}"
                )
        results: list[Any] = [None] * len(window)
        for places in _batches([len(sentence) for sentence in window], batch_size):
            batch = [window[place] for place in places]
            for place, vectors in zip(places, _embed_batch(model, batch), strict=True):
                results[place] = vectors
        yield from results


def _batches(lengths: list[int], batch_size: int) -> Iterator[list[int]]:
    """Groups the places of sentences of similar length."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        # Sorted, so this sentence would be the longest of the batch.
        if len(batch) == batch_size or lengths[place] * len(batch) > _MAX_POSITIONS:
            yield batch
            batch = []
        batch.append(place)
    yield batch


def _embed_batch(model: Encoder, batch: list[Sentence]) -> Iterator[np.ndarray]:
    tf = import_tensorflow("Spelling tokens out")
    tokens = np.full((len(batch), max(map(len, batch))), b"", dtype=object)
    for row, sentence in enumerate(batch):
        for column, token in enumerate(sentence):
            tokens[row, column] = token if isinstance(token, bytes) else token.encode()
    ids = character_ids(tf.constant(tokens, tf.string)).numpy()
    # NumPy has no bfloat16 of its own, and files neither.
    layers = [
        np.asarray(layer).astype("float32", copy=False)
        for layer in model.predict_on_batch(ids)
    ]
    for row, sentence in enumerate(batch):
        yield np.stack([layer[row, 1 : len(sentence) + 1] for layer in layers])
