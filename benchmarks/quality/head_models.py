"""The task's own part of a downstream model, the same for every kind of word vector."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from experiments import Head
from keras import ops
from task import Task
from word_vectors import Words

DROPOUT = 0.3
UNITS = 64
LEARNING_RATE = 2e-3
# A small draw of the training sentences is passed over more often.
_LEAST_UPDATES = 300


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


def build_model(head: Head, task: Task, below: Words, above: Words | None) -> Any:
    """Returns a model: word vectors, dropout, a biLSTM, a softmax.

    The vectors are normalised first: those of random weights are ten times smaller
    than those of a trained model, and that alone is to be no disadvantage.

    Args:
        head: the model's kind.
        task: what is to be said.
        below: the words that go into the biLSTM.
        above: words that go beside what comes out of it.
    """
    mask = keras.Input((None,), dtype="bool")
    inputs, vectors = below.vectors(head.mix_l2)
    x = keras.layers.LayerNormalization()(vectors)
    x = keras.layers.Dropout(DROPOUT)(x)
    if head.kind == "bilstm":
        lstm = keras.layers.LSTM(UNITS, return_sequences=True)
        x = keras.layers.Bidirectional(lstm)(x, mask=mask)
    if above is not None:
        more, vectors = above.vectors(head.mix_l2)
        inputs = [*inputs, *more]
        vectors = keras.layers.LayerNormalization()(vectors)
        x = ops.concatenate([x, keras.layers.Dropout(DROPOUT)(vectors)], axis=-1)
    if not task.is_tagging:
        x = MaxAndMean()(x, mask)
    classes = keras.layers.Dense(len(task.classes), activation="softmax")(x)
    return keras.Model([*inputs, mask], classes)


def train(
    head: Head,
    task: Task,
    below: Words,
    above: Words | None,
    places: np.ndarray,
    seed: int,
    epochs: int,
    batch_size: int,
) -> Any:
    """Returns a new model after `epochs` passes over training sentences."""
    keras.utils.set_random_seed(seed)
    model = build_model(head, task, below, above)
    per_epoch = -(-len(places) // batch_size)
    epochs = max(epochs, -(-_LEAST_UPDATES // per_epoch))
    model.compile(
        keras.optimizers.Adam(
            keras.optimizers.schedules.CosineDecay(LEARNING_RATE, epochs * per_epoch)
        ),
        "sparse_categorical_crossentropy",
        jit_compile=False,
    )
    random = np.random.default_rng(seed)
    # What hides rare words draws from its own: the order is that of any other words.
    hiding = np.random.default_rng(seed)
    for _ in range(epochs):
        for batch in batches(below.lengths, places, batch_size, random):
            labels = padded_labels(task, batch)
            known = labels >= 0
            model.train_on_batch(
                _inputs(batch, below, above, hiding),
                np.where(known, labels, 0),
                sample_weight=known.astype(np.float32),
            )
    return model


def predict(
    model: Any, task: Task, below: Words, above: Words | None, batch_size: int
) -> dict[int, np.ndarray]:
    """Returns the classes of the development sentences, by their places."""
    found = {}
    for batch in batches(below.lengths, task.dev, batch_size):
        probabilities = model.predict_on_batch(_inputs(batch, below, above))
        classes = probabilities.argmax(axis=-1)
        for place, row in zip(batch.tolist(), classes, strict=True):
            found[place] = row[: below.lengths[place]] if task.is_tagging else row
    return found


def _inputs(
    places: np.ndarray,
    below: Words,
    above: Words | None,
    random: np.random.Generator | None = None,
) -> list[np.ndarray]:
    inputs = below.batch(places, random)
    if above is not None:
        inputs = [*inputs, *above.batch(places, random)]
    return [*inputs, below.mask(places)]


def batches(
    lengths: np.ndarray,
    places: np.ndarray,
    batch_size: int,
    random: np.random.Generator | None = None,
) -> Iterator[np.ndarray]:
    """Yields places of sentences of about the same length.

    Args:
        lengths: of all sentences.
        places: of the sentences to use.
        batch_size: sentences at most.
        random: breaks ties among equal lengths and orders the batches.
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
