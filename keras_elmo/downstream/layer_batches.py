"""Batches of stored layers, for `fit`."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import keras
import numpy as np

from keras_elmo.utils.lazy import do_not_convert, tf
from keras_elmo.utils.types import Tensor

# An input by its name, or its place in a tuple; `None` if it is the only one.
Key: TypeAlias = str | int | None


class Sentences(NamedTuple):
    """The sentences of an input, their lengths, and the padded length."""

    rows: range
    lengths: np.ndarray
    positions: int


class LayerBatch(NamedTuple):
    """The inputs of a batch that are layers, the others, and targets and weights."""

    texts: dict[Key, Sentences]
    others: dict[Key, np.ndarray]
    rest: tuple[Tensor, ...]


class LayerBatches(keras.utils.PyDataset):
    """Batches of stored layers, padded with 0.

    `packed` are the layers of each input of each batch, one sentence after the other.
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

    def packed(self, index: int) -> tuple[Tensor, ...]:
        """Returns of each input its layers, lengths and positions; others; the rest."""
        k = self._order[index]
        texts, others, rest = self.batches[k]
        arrays = zip(self._packed[k], texts.values(), strict=True)
        return tuple((x, y.lengths, y.positions) for x, y in arrays), others, *rest

    def joined(self, layers: list[Tensor], others: dict[Key, Tensor]) -> Tensor:
        """Returns the inputs in the form in which they were given."""
        values = {**others, **dict(zip(self.batches[0].texts, layers, strict=True))}
        if None in values:
            return values[None]
        if 0 in values:
            return tuple(values[place] for place in range(len(values)))
        return values

    def __getitem__(self, index: int) -> tuple[Tensor, ...]:
        texts, others, *rest = self.packed(index)
        return self.joined([self._padded(*text) for text in texts], others), *rest

    def _padded(
        self, packed: np.ndarray, lengths: np.ndarray, positions: int
    ) -> np.ndarray:
        num_layers, _, units = self.layers_shape
        layers = np.zeros((len(lengths), num_layers, positions, units), "float32")
        ends = np.cumsum(lengths) * num_layers * units
        sentences = np.split(packed, ends[:-1])
        for padded, length, sentence in zip(layers, lengths, sentences, strict=True):
            padded[:, :length] = sentence.reshape(num_layers, length, units)
        return layers

    def on_epoch_end(self) -> None:
        if self._shuffle:
            # Of the seed that `keras.utils.set_random_seed` sets.
            np.random.shuffle(self._order)


def layer_dataset(batches: LayerBatches) -> "tf.data.Dataset | keras.utils.PyDataset":
    """Returns what Keras reads fastest on its backend."""
    if keras.backend.backend() != "tensorflow":
        return batches
    num_layers, _, units = batches.layers_shape

    def generate() -> Iterator[tuple[Tensor, ...]]:
        yield from (batches.packed(k) for k in range(len(batches)))
        batches.on_epoch_end()

    def padded(packed: Tensor, lengths: Tensor, positions: Tensor) -> Tensor:
        rows = tf.reshape(packed, [-1, units])
        lengths = tf.repeat(lengths, num_layers)
        ragged = tf.RaggedTensor.from_row_lengths(rows, lengths, validate=False)
        shape = [tf.size(lengths, tf.int64), positions, units]
        layers = ragged.to_tensor(shape=tf.stack(shape))
        return tf.reshape(layers, [-1, num_layers, *shape[1:]])

    @do_not_convert
    def pad(
        texts: tuple[Tensor, ...], others: dict[Key, Tensor], *rest: Tensor
    ) -> tuple[Tensor, ...]:
        return batches.joined([padded(*text) for text in texts], others), *rest

    # Keras would take the shapes of the first batches for those of all.
    text = (
        tf.TensorSpec([None], tf.float32),
        tf.TensorSpec([None], tf.int64),
        tf.TensorSpec([], tf.int64),
    )
    others = keras.tree.map_structure(_spec, *(x.others for x in batches.batches))
    rest = keras.tree.map_structure(_spec, *(batch.rest for batch in batches.batches))
    specs = ((text,) * len(batches.batches[0].texts), others, *rest)
    dataset = tf.data.Dataset.from_generator(generate, output_signature=specs)
    known = tf.data.experimental.assert_cardinality(len(batches))
    return dataset.apply(known).map(pad).prefetch(2)


def _spec(*arrays: np.ndarray) -> "tf.TensorSpec":
    """The type and shape of a part of the batches, whose sizes may vary."""
    sizes = zip(*(array.shape for array in arrays), strict=True)
    shape = [size.pop() if len(size) == 1 else None for size in map(set, sizes)]
    return tf.TensorSpec([None, *shape[1:]], arrays[0].dtype)
