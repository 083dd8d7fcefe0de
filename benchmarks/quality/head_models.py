"""The task's own part of a downstream model, the same for every kind of word vector."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from data_sets import Task, Training
from keras import ops
from word_vectors import Words

UNITS = 64
LEARNING_RATE = 2e-3
# A small draw of the training sentences is passed over more often.
LEAST_UPDATES = 300
_BATCHES_AHEAD = 4


class MaxAndMean(keras.layers.Layer):
    """The greatest and the mean value over the unmasked positions, joined."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x: Any, mask: Any = None) -> Any:
        kept = ops.cast(mask, x.dtype)[..., None]
        greatest = ops.max(ops.where(mask[..., None], x, -1e9), axis=1)
        mean = ops.sum(x * kept, axis=1) / ops.sum(kept, axis=1)
        return ops.concatenate([greatest, mean], axis=-1)

    def compute_mask(self, x: Any, previous_mask: Any = None) -> None:
        return None


def batches(
    lengths: np.ndarray,
    places: np.ndarray,
    random: np.random.Generator | None = None,
    *,
    batch_size: int,
) -> Iterator[np.ndarray]:
    """Yields places of sentences of about the same length.

    `random` breaks ties among equal lengths and orders the batches.
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
    batch = np.full((len(labels), max(1, *map(len, labels))), -1, np.int32)
    for row, tags in zip(batch, labels, strict=True):
        row[: len(tags)] = tags
    return batch


def build_model(head: str, task: Task, words: Words, dropout: float) -> Any:
    """Returns a model: word vectors, dropout, a biLSTM if it is the head, a softmax.

    Each kind of vectors is normalised by itself: those of random weights are ten times
    smaller than those of a trained model, which alone should be no disadvantage.
    """
    mask = keras.Input((None,), dtype="bool")
    inputs, vectors = words.vectors()
    normalised = [keras.layers.LayerNormalization()(each) for each in vectors]
    x = keras.layers.Dropout(dropout)(ops.concatenate(normalised, axis=-1))
    if head == "bilstm":
        lstm = keras.layers.LSTM(UNITS, return_sequences=True)
        x = keras.layers.Bidirectional(lstm)(x, mask=mask)
    if not task.is_tagging:
        x = MaxAndMean()(x, mask)
    classes = keras.layers.Dense(len(task.classes), activation="softmax")(x)
    return keras.Model([*inputs, mask], classes)


def train(
    head: str,
    task: Task,
    words: Words,
    places: np.ndarray,
    seed: int,
    training: Training,
) -> Any:
    """Returns a new model that was trained on the sentences at `places`."""
    keras.utils.set_random_seed(seed)
    model = build_model(head, task, words, training.dropout)
    batch_size = training.batch_size
    per_epoch = -(-len(places) // batch_size)
    epochs = max(training.epochs, -(-LEAST_UPDATES // per_epoch))
    rate = keras.optimizers.schedules.CosineDecay(LEARNING_RATE, epochs * per_epoch)
    loss = "sparse_categorical_crossentropy"
    model.compile(keras.optimizers.Adam(rate), loss, jit_compile=False)
    random = np.random.default_rng(seed)

    def examples() -> Iterator[Any]:
        for _ in range(epochs):
            for batch in batches(words.lengths, places, random, batch_size=batch_size):
                labels = padded_labels(task, batch)
                known = labels >= 0
                inputs = tuple(_inputs(batch, words))
                yield inputs, np.where(known, labels, 0), known.astype(np.float32)

    labels = [None, None] if task.is_tagging else [None]
    targets = (tf.TensorSpec(labels, kind) for kind in (tf.int32, tf.float32))
    dataset = tf.data.Dataset.from_generator(
        examples, output_signature=(tuple(_signature(model)), *targets)
    )
    counted = tf.data.experimental.assert_cardinality(epochs * per_epoch)
    fixed = tf.data.Options()
    # There is nothing to tune, and on one core `fit` would wait for the tuner's next
    # turn before it returns: for up to a minute.
    fixed.autotune.enabled = False
    dataset = dataset.apply(counted).prefetch(_BATCHES_AHEAD).with_options(fixed)
    model.fit(dataset, shuffle=False, verbose=0)
    return model


def predict(
    model: Any, task: Task, words: Words, batch_size: int
) -> dict[int, np.ndarray]:
    """Returns the classes of the development sentences, by their places."""
    compute = tf.function(
        lambda *inputs: model(list(inputs), training=False),
        input_signature=_signature(model),
        autograph=False,
    )
    found = {}
    for batch in batches(words.lengths, task.dev, batch_size=batch_size):
        classes = compute(*_inputs(batch, words)).numpy().argmax(axis=-1)
        for place, row in zip(batch.tolist(), classes, strict=True):
            found[place] = row[: words.lengths[place]] if task.is_tagging else row
    return found


def _signature(model: Any) -> list[tf.TensorSpec]:
    """The shapes and types of a batch of any size: one graph for all."""
    return [tf.TensorSpec(each.shape, each.dtype) for each in model.inputs]


def _inputs(places: np.ndarray, words: Words) -> list[np.ndarray]:
    return [*words.batch(places), words.mask(places)]
