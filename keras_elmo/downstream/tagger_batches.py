"""Sentences to the batches that a tagger is trained on, and predicts from."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import keras
import numpy as np
from keras import ops

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.layer_batches import (
    LayerBatch,
    LayerBatches,
    layer_dataset,
)
from keras_elmo.downstream.precompute import precompute
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.text.batching import Tokens, batches_of_like_length
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.text.tagged_sentences import NO_TAG
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Tensor


class BatchGraph:
    """A function of batches as one TensorFlow graph for all their sizes.

    Keras would trace several, for seconds each.

    Args:
        function: of the parts of a batch.
        layers_shape: as of `ElmoEmbedding`.
    """

    def __init__(
        self, function: Callable[..., Tensor], layers_shape: tuple[int, None, int]
    ) -> None:
        self._function = function
        self._layers_shape = layers_shape
        self._graphs: dict[int, Callable[..., Tensor]] = {}

    def __call__(self, x: dict[str, Tensor], *labels: Tensor) -> Tensor:
        batch = keras.tree.map_structure(tf.convert_to_tensor, (x, *labels))
        # Layers, or the ids of a biLM that is fine-tuned.
        rank = len(x["words"].shape)
        if rank not in self._graphs:
            specs = keras.tree.map_structure(self._spec, batch)
            function = tf.function(self._function, specs, autograph=False)
            self._graphs[rank] = function.get_concrete_function()
        return self._graphs[rank](*keras.tree.flatten(batch))

    def _spec(self, part: Tensor) -> "tf.TensorSpec":
        sizes = self._layers_shape if len(part.shape) == 4 else (None, *part.shape[2:])
        return tf.TensorSpec((None, *sizes), part.dtype)


class TaggerBatches:
    """Makes the inputs of a `Tagger`.

    Args:
        elmo: the layer that reads `words`.
        static: the layer that reads `static`, if any.
    """

    def __init__(self, elmo: ElmoEmbedding, static: StaticEmbedding | None) -> None:
        self._elmo = elmo
        self._static = static
        self._ids = PlainIds(elmo.encoder.config.token_vocabulary)
        # JAX compiles for seconds whenever a size is new.
        self._multiple = 16 if keras.backend.backend() == "jax" else 1

    def prepare(
        self,
        sentences: Sequence[Tokens],
        batch_size: int,
        labels: Sequence[Sequence[int]] | None = None,
        shuffle: bool = False,
    ) -> tuple[list[list[int]], Iterable[tuple[Tensor, ...]]]:
        """Computes what does not change while a tagger is trained.

        Args:
            sentences: words; at least one sentence has any.
            batch_size: greatest number of sentences in a batch.
            labels: the indices of the tags of each sentence.
            shuffle: whether the batches come in another order in each epoch.

        Returns:
            The places of the sentences in each batch, without those that have no words
            and with those apart that have an unknown tag; and the batches, `(x,)` or
            `(x, y)`, for any number of passes.
        """
        with_words = [k for k, sentence in enumerate(sentences) if sentence]
        unknown = {k for k in with_words if labels and NO_TAG in labels[k]}
        groups = []
        for places in ([k for k in with_words if k not in unknown], sorted(unknown)):
            lengths = [len(sentences[k]) for k in places]
            for batch in batches_of_like_length(lengths, batch_size):
                if batch:
                    groups.append([places[k] for k in batch])

        def batches() -> Iterator[tuple[Tensor, ...]]:
            for group in groups:
                x = self._inputs([sentences[k] for k in group])
                if labels is None:
                    yield (x,)
                else:
                    yield x, self._padded([labels[k] for k in group])

        if not self._elmo.trainable_encoder:
            return groups, precompute(self._elmo, batches(), shuffle, inputs="words")
        parts = [LayerBatch({}, x, tuple(y)) for x, *y in batches()]
        layers_shape = self._elmo.layers_shape
        return groups, layer_dataset(LayerBatches(layers_shape, [], parts, shuffle))

    def _width(self, rows: Sequence[Sequence[object]]) -> int:
        longest = max(map(len, rows))
        return longest + -longest % self._multiple

    def _inputs(self, sentences: Sequence[Tokens]) -> dict[str, np.ndarray]:
        width = self._width(sentences)
        inputs = {"words": self._ids(sentences, width)}
        if self._static is not None:
            rows = [[*row, *[b""] * (width - len(row))] for row in sentences]
            inputs["static"] = ops.convert_to_numpy(self._static.ids(rows))
        return inputs

    def _padded(self, labels: Sequence[Sequence[int]]) -> np.ndarray:
        padded = np.full((len(labels), self._width(labels)), NO_TAG, "int32")
        for row, numbers in zip(padded, labels, strict=True):
            row[: len(numbers)] = numbers
        return padded
