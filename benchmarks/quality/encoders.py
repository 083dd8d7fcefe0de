"""The encoders by their names, each a way to make words of sentences."""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import keras
import logistic
import numpy as np
from data_sets import Task
from experiments import WORDS
from word_vectors import (
    FrozenWords,
    JoinedWords,
    Words,
    contextual_words,
    static_words,
)

import keras_elmo
from keras_elmo.embedding.parts import encoder_hash, file_hash

NAMES = [name for name in WORDS if "+" not in name]
_RANDOM_SEED = 1000
_BATCH_SIZE = 128


class Encoders:
    """Makes words, and keeps those of the latest task.

    A name is that of an encoder, with `:` and a layer for that layer alone; several
    are joined by `+`: `elmo`, `elmo:1`, `static+elmo`.

    Args:
        elmo: the biLM, or a path of it.
        static: a file of static vectors of the same text.
    """

    def __init__(
        self, elmo: keras_elmo.Encoder | Path, static: Path | None = None
    ) -> None:
        self._source = elmo
        self.elmo = keras_elmo.load(elmo)
        self.tokenizer = self.elmo.tokenizer or "whitespace"
        self._static = static
        self._digests: dict[str, str] = {}
        self._task: Task | None = None
        self._made: dict[str, FrozenWords] = {}
        self._pooled: dict[str, np.ndarray] = {}

    @cached_property
    def language_model(self) -> Any:
        """The biLM with its softmax."""
        return keras_elmo.load_language_model(self._source)

    def has(self, name: str) -> bool:
        """Whether the encoders of a name are there; raises if there are no such."""
        return "static" not in _parts(name) or self._static is not None

    def digest(self, name: str) -> str:
        """Returns a hash of the files that the vectors of a name depend on."""
        return "+".join(map(self._digest, _parts(name)))

    def _digest(self, name: str) -> str:
        if name not in self._digests:
            if name == "static":
                digest = file_hash(self._static)
            elif name == "random":
                # The model's sizes alone.
                options = json.dumps(self.elmo.config.to_options(), sort_keys=True)
                digest = sha256(options.encode()).hexdigest()
            else:
                digest = encoder_hash(self._bilm(name))
            self._digests[name] = digest[:12]
        return self._digests[name]

    def words(self, name: str, task: Task) -> Words:
        """Returns the words of a task's sentences."""
        if "+" in name:
            return JoinedWords([self.words(part, task) for part in name.split("+")])
        self._begin(task)
        name, _, layer = name.partition(":")
        sentences = task.sentences
        if name not in self._made:
            self._made[name] = (
                static_words(self._static, sentences)
                if name == "static"
                else contextual_words(sentences, *self.layers(name, sentences))
            )
        return self._made[name].layer(int(layer)) if layer else self._made[name]

    def pooled(self, name: str, task: Task) -> np.ndarray:
        """Returns the mean and the maximum of a task's sentences.

        The layers stand beside each other: `(sentences, 2, layers * units)`.
        """
        if "+" in name:
            parts = [self.pooled(part, task) for part in name.split("+")]
            return np.concatenate(parts, axis=-1)
        self._begin(task)
        name, _, layer = name.partition(":")
        if name not in self._pooled:
            if name == "static":
                layers = static_words(self._static, task.sentences).layers()
            else:
                layers, _ = self.layers(name, task.sentences)
            self._pooled[name] = logistic.pool(layers)
        found = self._pooled[name]
        found = found[:, :, [int(layer)]] if layer else found
        return found.reshape(*found.shape[:2], -1)

    def _begin(self, task: Task) -> None:
        if task is not self._task:
            # Gigabytes of some tasks.
            self._made.clear()
            self._pooled.clear()
            self._task = task

    def layers(
        self, name: str, sentences: Sequence[Sequence[str]]
    ) -> tuple[Iterator[np.ndarray], tuple[int, int]]:
        """Returns an array `(layers, tokens, units)` a sentence, and `(layers, units)`.

        `name` is `elmo` or `random`.
        """
        encoder = self._bilm(name)
        config = encoder.config
        shape = (config.num_layers + 1, 2 * config.projection_units)
        return keras_elmo.embed(encoder, sentences, _BATCH_SIZE), shape

    def _bilm(self, name: str) -> keras_elmo.Encoder:
        if name == "random":
            keras.utils.set_random_seed(_RANDOM_SEED)
            return keras_elmo.build_encoder(self.elmo.config)
        return self.elmo


def _parts(name: str) -> list[str]:
    """The encoders that a name names."""
    parts = [part.partition(":")[0] for part in name.split("+")]
    for part in parts:
        if part not in NAMES:
            raise ValueError(
                f"an encoder is one of {', '.join(NAMES)}, perhaps with a layer, as in "
                f"elmo:1, or several joined by +. Received: {name}"
            )
    return parts
