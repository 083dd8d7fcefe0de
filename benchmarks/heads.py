"""The task's own part of a downstream model, the same for every kind of word vector."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from keras import ops
from tasks import Task
from words import Words

DROPOUT = 0.3
UNITS = 64
BATCH_SIZE = 32
LEARNING_RATE = 1e-3


class MaxAndMean(keras.layers.Layer):
    """The greatest and the mean value over the unmasked positions, one after the other.

    Call arguments:
        x: `(batch, tokens, units)` tensor.
        mask: `(batch, tokens)` booleans, each row with one that is true.

    Returns:
        `(batch, 2 * units)` tensor.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x: Any, mask: Any) -> Any:
        kept = ops.cast(mask, x.dtype)[..., None]
        greatest = ops.max(ops.where(mask[..., None], x, -1e9), axis=1)
        mean = ops.sum(x * kept, axis=1) / ops.sum(kept, axis=1)
        return ops.concatenate([greatest, mean], axis=-1)

    def compute_mask(self, x: Any, previous_mask: Any = None) -> None:
        # What comes out has no tokens any more.
        return None


def build_model(words: Words, task: Task) -> Any:
    """Returns a compiled model: word vectors, dropout, a biLSTM, a softmax.

    The vectors are normalised first: those of random weights are ten times smaller
    than those of a trained model, and that alone is to be no disadvantage.
    """
    inputs, vectors = words.vectors()
    mask = keras.Input((None,), dtype="bool", name="mask")
    x = keras.layers.LayerNormalization()(vectors)
    x = keras.layers.Dropout(DROPOUT)(x)
    lstm = keras.layers.LSTM(UNITS, return_sequences=True)
    x = keras.layers.Bidirectional(lstm)(x, mask=mask)
    if not task.is_tagging:
        x = MaxAndMean()(x, mask)
    classes = keras.layers.Dense(task.num_classes, activation="softmax")(x)
    model = keras.Model([inputs, mask], classes)
    model.compile(
        optimizer=keras.optimizers.Adam(LEARNING_RATE),
        loss="sparse_categorical_crossentropy",
        jit_compile=False,
    )
    return model


def train(words: Words, task: Task, seed: int, epochs: int) -> Any:
    """Returns a new model after `epochs` passes over the training sentences."""
    keras.utils.set_random_seed(seed)
    model = build_model(words, task)
    random = np.random.default_rng(seed)
    # What hides rare words draws from its own: the order is that of any other words.
    hiding = np.random.default_rng(seed)
    for _ in range(epochs):
        for places in batches(words.lengths, task.train, random):
            labels = padded_labels(task, places)
            known = labels >= 0
            model.train_on_batch(
                [words.batch(places, hiding), words.mask(places)],
                np.where(known, labels, 0),
                sample_weight=known.astype(np.float32),
            )
    return model


def accuracy(model: Any, words: Words, task: Task) -> float:
    """Returns the share of right labels on the development set."""
    right = total = 0
    for places in batches(words.lengths, task.dev):
        probabilities = model.predict_on_batch(
            [words.batch(places), words.mask(places)]
        )
        labels = padded_labels(task, places)
        right += int((probabilities.argmax(axis=-1) == labels).sum())
        total += int((labels >= 0).sum())
    return right / total


def batches(
    lengths: np.ndarray,
    places: np.ndarray,
    random: np.random.Generator | None = None,
    batch_size: int = BATCH_SIZE,
) -> Iterator[np.ndarray]:
    """Yields places of sentences of about the same length.

    Args:
        lengths: of all sentences.
        places: of the sentences to use.
        random: breaks ties among equal lengths and orders the batches.
        batch_size: sentences at most.
    """
    if random is not None:
        places = random.permutation(places)
    places = places[np.argsort(lengths[places], kind="stable")]
    starts = np.arange(0, len(places), batch_size)
    if random is not None:
        starts = random.permutation(starts)
    for start in starts:
        yield places[start : start + batch_size]


def padded_labels(task: Task, places: np.ndarray) -> np.ndarray:
    """Returns the labels of a batch, -1 where there is none."""
    labels = [task.labels[place] for place in places]
    if not task.is_tagging:
        return np.stack(labels)
    longest = max(1, *map(len, labels))
    batch = np.full((len(labels), longest), -1, np.int32)
    for row, tags in enumerate(labels):
        batch[row, : len(tags)] = tags
    return batch
