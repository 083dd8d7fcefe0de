"""Texts to the ids that a classifier reads, in batches."""

from collections.abc import Iterator, Sequence

import keras
import numpy as np

from keras_elmo.config import TOKENIZER_IF_UNKNOWN
from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.precompute import precompute
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.files.encoder_tokenizer import tokenizer_of
from keras_elmo.text.batching import Tokens
from keras_elmo.text.labelled_texts import Text
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.text.token_lists import read_sentences
from keras_elmo.text.tokenizer import Tokenizer
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Tensor

# Texts that are sorted by length together, in batches.
_WINDOW = 16


class TextIds:
    """Makes the inputs of the layers of word vectors.

    Args:
        elmo: whose character ids are made.
        static: whose ids are made, too, or `None`.
        pairs: whether there are two texts.

    Attributes:
        names: of the inputs of `elmo`, and of `static`, for each text of a pair.
    """

    def __init__(
        self, elmo: ElmoEmbedding, static: StaticEmbedding | None, pairs: bool
    ) -> None:
        self._elmo = elmo
        self._static = static
        self.names = [
            [name] if static is None else [name, f"{name}_static"]
            for name in ("first", "second")[: 1 + pairs]
        ]

    def of_strings(self, inputs: Tensor) -> dict[str, Tensor]:
        """Returns the ids of string tensors by name, in a graph or not.

        Args:
            inputs: text `(batch,)` or words `(batch, tokens)`; of pairs, two tensors.
        """
        ids = {}
        texts = [inputs] if len(self.names) == 1 else inputs
        for names, tokens in zip(self.names, texts, strict=True):
            if len(tokens.shape) == 1:
                kind = self._elmo.encoder.tokenizer or TOKENIZER_IF_UNKNOWN
                tokens = Tokenizer(kind)(tokens)
            ids[names[0]] = self._elmo.char_ids(tokens)
            if self._static is not None:
                ids[names[1]] = self._static.ids(tokens)
        return ids

    def batches(
        self, columns: Sequence[Sequence[Text]], batch_size: int, shuffle: bool = False
    ) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        """Yields the places of texts of similar length, and their ids by name.

        Args:
            columns: the texts; of pairs, the first ones and the second ones.
            batch_size: greatest number of texts in a batch.
            shuffle: whether texts that are far from each other may share a batch.
        """
        encoder = self._elmo.encoder
        encode = PlainIds(encoder.config.token_vocabulary)
        size = batch_size * _WINDOW
        rows = [
            list(read_sentences(texts, tokenizer_of(encoder), size))
            for texts in columns
        ]
        lengths = np.sum([[*map(len, column)] for column in rows], axis=0)
        order = np.arange(len(lengths))
        if shuffle:
            # By the seed that `keras.utils.set_random_seed` sets.
            np.random.shuffle(order)
        for start in range(0, len(order), size):
            window = order[start : start + size]
            window = window[np.argsort(lengths[window], kind="stable")]
            for first in range(0, len(window), batch_size):
                places = window[first : first + batch_size]
                ids = {}
                for (name, *static), column in zip(self.names, rows, strict=True):
                    tokens = [column[place] for place in places]
                    ids[name] = encode(tokens, width=1)
                    if self._static is not None:
                        ids[static[0]] = _static_ids(self._static, tokens)
                yield places, ids

    def precomputed(
        self, columns: Sequence[Sequence[Text]], targets: np.ndarray, batch_size: int
    ) -> "tf.data.Dataset | keras.utils.PyDataset":
        """Returns batches for `fit`, with the layers of the frozen biLM."""
        batches = self.batches(columns, batch_size, shuffle=True)
        return precompute(
            self._elmo,
            ((ids, targets[places]) for places, ids in batches),
            shuffle=True,
            inputs=[name for name, *_ in self.names],
        )


def _static_ids(static: StaticEmbedding, sentences: Sequence[Tokens]) -> np.ndarray:
    width = max(1, *map(len, sentences))
    padded = [[*tokens] + [b""] * (width - len(tokens)) for tokens in sentences]
    return np.asarray(static.ids(tf.constant(padded)))
