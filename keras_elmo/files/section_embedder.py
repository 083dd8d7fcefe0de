"""Section after section, with the words of some of them remembered."""

from collections.abc import Iterator, Sequence

import numpy as np

from keras_elmo.files.embeddings import Embedder
from keras_elmo.models.encoder import Encoder

# Of the biLM: a step of many rows costs little more than one of few.
_BATCH_SIZE = 128
# Between two of which all words are forgotten. Most words of a section stood in those
# before it; who goes on with a file reads the words of so many sections once more.
_SECTIONS_REMEMBERED = 8

Section = Sequence[Sequence[bytes]]


class SectionEmbedder:
    """Embeds the sections of a text in their order.

    The vectors of a section are the same to the bit, whether those before it were
    embedded or skipped.

    Args:
        encoder: whose vectors.
        num_written: how many sections will be skipped.
        mix: a weight for each layer, if their sum is wanted instead of them.
    """

    def __init__(
        self, encoder: Encoder, num_written: int, mix: np.ndarray | None = None
    ) -> None:
        self._encoder = encoder
        self._mix = mix
        self._num_written = num_written
        self._number = 0

    def skip(self, section: Section) -> None:
        """Passes over a section, and reads what the next ones will remember of it."""
        embedder = self._next()
        group = (self._number - 1) // _SECTIONS_REMEMBERED
        if group == self._num_written // _SECTIONS_REMEMBERED:
            embedder.learn(section, _BATCH_SIZE)

    def embed(self, section: Section) -> Iterator[np.ndarray]:
        """Yields the layers of each sentence, `(num_layers + 1, tokens, units)`.

        With a mix, their sum, `(tokens, units)`.
        """
        return self._next().embed(section, _BATCH_SIZE, self._mix)

    def _next(self) -> Embedder:
        if self._number % _SECTIONS_REMEMBERED == 0:
            self._embedder = Embedder(self._encoder)
        self._number += 1
        return self._embedder
