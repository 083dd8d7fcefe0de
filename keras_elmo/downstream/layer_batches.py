"""Batches of stored layers, for `fit`."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import keras
import numpy as np

from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Tensor

# An input by its name, or its place in a tuple; `None` if it is the only one.
Key: TypeAlias = str | int | None


class Sentences(NamedTuple):
    """The sentences of an input, their lengths, and the padded length."""

    rows: range
    lengths: np.ndarray
    positions: int


class LayerBatch(NamedTuple):
    """A batch: inputs that become layers, other inputs, and targets and weights."""

    texts: dict[Key, Sentences]
    others: dict[Key, np.ndarray]
    rest: tuple[Tensor, ...]


class LayerBatches(keras.utils.PyDataset):
    """Batches of stored layers, padded with 0.

    `packed` has one array for each input of each batch: its layers, sentence by
    sentence.
    """

    def __init__(
        self,
        layers_shape: tuple[int, None, int],
        packed: list[np.ndarray],
        batches: list[LayerBatch],
        shuffle: bool,
    ) -> None:
        super().__init__()
        self.layers_shape = layers_shape
        self.batches = batches
        remaining = iter(packed)
        self._packed = [[next(remaining) for _ in batch.texts] for batch in batches]
        self._shuffle = shuffle
        self._order = np.arange(len(batches))
        self.on_epoch_end()

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> tuple[Tensor, ...]:
        k = self._order[index]
        texts, others, rest = self.batches[k]
        pairs = zip(self._packed[k], texts.values(), strict=True)
        return self._joined([self._padded(*pair) for pair in pairs], others), *rest

    def _padded(self, packed: np.ndarray, text: Sentences) -> np.ndarray:
        num_layers, _, units = self.layers_shape
        shape = (len(text.lengths), num_layers, text.positions, units)
        layers = np.zeros(shape, "float32")
        ends = np.cumsum(text.lengths) * num_layers * units
        sentences = np.split(packed, ends[:-1])
        for row, length, sentence in zip(layers, text.lengths, sentences, strict=True):
            row[:, :length] = sentence.reshape(num_layers, length, units)
        return layers

    def _joined(self, layers: list[Tensor], others: dict[Key, Tensor]) -> Tensor:
        """Returns the inputs in the form in which they were given."""
        values = {**others, **dict(zip(self.batches[0].texts, layers, strict=True))}
        if None in values:
            return values[None]
        if 0 in values:
            return tuple(values[place] for place in range(len(values)))
        return values

    def specs(self) -> tuple[Tensor, ...]:
        """Returns the types and shapes of the parts of all batches."""
        num_layers, _, units = self.layers_shape
        layers = tf.TensorSpec([None, num_layers, None, units], tf.float32)
        others, rest = (
            keras.tree.map_structure(_spec, *parts)
            for parts in zip(
                *((batch.others, batch.rest) for batch in self.batches), strict=True
            )
        )
        return self._joined([layers] * len(self.batches[0].texts), others), *rest

    def on_epoch_end(self) -> None:
        if self._shuffle:
            # By the seed that `keras.utils.set_random_seed` sets.
            np.random.shuffle(self._order)


def layer_dataset(batches: LayerBatches) -> "tf.data.Dataset | keras.utils.PyDataset":
    """Returns what Keras reads fastest on its backend."""
    if keras.backend.backend() != "tensorflow":
        return batches

    def generate() -> Iterator[tuple[Tensor, ...]]:
        yield from (batches[k] for k in range(len(batches)))
        batches.on_epoch_end()

    # Keras would take the shapes of the first batches for all.
    dataset = tf.data.Dataset.from_generator(generate, output_signature=batches.specs())
    known = tf.data.experimental.assert_cardinality(len(batches))
    return dataset.apply(known).prefetch(2)


def _spec(*arrays: np.ndarray) -> "tf.TensorSpec":
    """Returns the type and shape of a part of the batches, whose sizes may vary."""
    sizes = zip(*(array.shape for array in arrays), strict=True)
    shape = [size.pop() if len(size) == 1 else None for size in map(set, sizes)]
    return tf.TensorSpec([None, *shape[1:]], arrays[0].dtype)
