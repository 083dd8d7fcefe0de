"""Words to the batches that a tagger or a classifier reads."""

from collections.abc import Iterable, Iterator, Sequence

import keras
import numpy as np

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.layer_batches import LayerBatches
from keras_elmo.downstream.precompute import layer_batches
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.text.batch_shapes import rounded_up
from keras_elmo.text.batching import Tokens, batches_of_like_length
from keras_elmo.text.plain_ids import PlainIds, StaticIds
from keras_elmo.utils.types import Tensor

# Batches of texts that are sorted by length together.
_WINDOW = 16
_JAX_TOKENS = 16


def num_padded(texts: Sequence[Sequence[Tokens]]) -> int:
    """Returns the tokens of a batch, padded to few sizes on JAX.

    It compiles for seconds whenever a size is new.
    """
    longest = max((len(words) for column in texts for words in column), default=0)
    multiple = _JAX_TOKENS if keras.backend.backend() == "jax" else 1
    return longest + -longest % multiple


def with_padding_rows(sentences: Sequence[Tokens]) -> list[Tokens]:
    """Returns the sentences of a batch; on JAX empty ones follow, for few sizes."""
    is_jax = keras.backend.backend() == "jax"
    missing = rounded_up(len(sentences)) - len(sentences) if is_jax else 0
    return [*sentences, *[[]] * missing]


class TaskInputs:
    """Makes the inputs of `elmo` and `static` from words.

    `names` are their names for each text of a pair, or for the only one.
    """

    def __init__(
        self,
        elmo: ElmoEmbedding,
        static: StaticEmbedding | None,
        *names: tuple[str, str],
    ) -> None:
        self._elmo = elmo
        self._char_ids = PlainIds(elmo.encoder.config.token_vocabulary)
        self._static_ids = None if static is None else StaticIds(static.words)
        self.names = [name[:1] if static is None else name for name in names]

    def __call__(
        self, texts: Sequence[Sequence[Tokens]], width: int = 0
    ) -> dict[str, np.ndarray]:
        """Returns the inputs by name, of `width` tokens at least.

        Of pairs, `texts` are the first sentences and the second ones of a batch.
        """
        inputs = {}
        for (name, *static), sentences in zip(self.names, texts, strict=True):
            inputs[name] = self._char_ids(sentences, width)
            if self._static_ids is not None:
                longest = inputs[name].shape[1] - 2
                inputs[static[0]] = self._static_ids(sentences, longest)
        return inputs

    def precomputed(
        self, batches: Iterable[tuple[Tensor, ...]], shuffle: bool
    ) -> LayerBatches:
        """Returns batches with the layers of the frozen biLM for character ids."""
        names = [name for name, *_ in self.names]
        return layer_batches(self._elmo, batches, shuffle, inputs=names)


def shuffled_groups(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Yields the places of texts of similar length, a batch at a time.

    Texts that are far from each other may share a batch.
    """
    # By the seed that `keras.utils.set_random_seed` sets.
    order = np.random.permutation(len(lengths)).tolist()
    for start in range(0, len(order), batch_size * _WINDOW):
        window = order[start : start + batch_size * _WINDOW]
        sizes = [lengths[place] for place in window]
        for batch in batches_of_like_length(sizes, batch_size):
            yield [window[k] for k in batch]
