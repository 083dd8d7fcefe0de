"""The model of a language that is measured, and what it is compared with."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import keras
import numpy as np

import keras_elmo
from keras_elmo.embedding.parts import encoder_hash, file_hash

_RANDOM_SEED = 1000
_BATCH_SIZE = 128


class MeasuredModel:
    """A biLM with one of random weights, and static vectors from the same text.

    Args:
        language: of the text that it has read.
        source: where the biLM is.
        static: file with static vectors, or `None`.
    """

    def __init__(
        self, language: str, source: str | Path, static: Path | None = None
    ) -> None:
        self.language = language
        self.static = static
        self.elmo = keras_elmo.load(source)
        self.tokenizer = self.elmo.tokenizer or "whitespace"
        self._source = source
        self._digests: dict[str, str] = {}

    @cached_property
    def language_model(self) -> Any:
        """The biLM with its softmax."""
        return keras_elmo.load_language_model(self._source)

    @cached_property
    def random(self) -> keras_elmo.Encoder:
        """A biLM of the same sizes with random weights."""
        keras.utils.set_random_seed(_RANDOM_SEED)
        return keras_elmo.build_encoder(self.elmo.config)

    def digest(self, vectors: str) -> str:
        """Returns a hash of what `elmo`, `random`, `static` or `both` depend on."""
        if vectors == "both":
            return "+".join(map(self.digest, ("static", "elmo")))
        if vectors not in self._digests:
            self._digests[vectors] = self._digest(vectors)[:12]
        return self._digests[vectors]

    def _digest(self, vectors: str) -> str:
        if vectors == "static":
            return file_hash(self.static)
        if vectors == "elmo":
            return encoder_hash(self.elmo)
        # The random weights depend on the model's sizes alone.
        options = json.dumps(self.elmo.config.to_options(), sort_keys=True)
        return hashlib.sha256(options.encode()).hexdigest()

    def layers(
        self, vectors: str, sentences: Sequence[Sequence[str]]
    ) -> Iterator[np.ndarray]:
        """Yields the layers of each sentence, `(layers, words, units)`.

        `vectors` is `"elmo"` or `"random"`.
        """
        encoder = self.random if vectors == "random" else self.elmo
        return keras_elmo.embed(encoder, sentences, _BATCH_SIZE)
