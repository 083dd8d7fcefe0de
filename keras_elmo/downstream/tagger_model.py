"""The model inside of a `Tagger`: batches of words to scores of tags."""

import os
import reprlib
from collections.abc import Callable, Sequence
from typing import Self

import keras
from keras import ops

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.exported_tagger import ExportedTagger
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.downstream.tagger_batches import BatchGraph, TaggerBatches
from keras_elmo.downstream.tagger_head import TaggerHead, tagger_loss
from keras_elmo.files.sources import Source
from keras_elmo.utils.checks import (
    called,
    check_at_least,
    check_boolean,
    check_rate,
    check_type,
    refuse,
)
from keras_elmo.utils.types import Config, StrPath, Tensor

# Half a gigabyte for 32 sentences of 50 words.
_MOST_CRF_TAGS = 300


class TaggerModel(ExportedTagger):
    """What `Tagger` says of its arguments and calls holds here."""

    def __init__(
        self,
        encoder: Source,
        tags: Sequence[str] | None = None,
        static: StaticEmbedding | StrPath | None = None,
        lstm_units: int = 128,
        crf: bool = True,
        dropout: float = 0.5,
        trainable_encoder: bool = False,
        **kwargs: object,
    ) -> None:
        check_at_least(0, lstm_units=lstm_units)
        check_rate(dropout=dropout)
        check_boolean(crf=crf, trainable_encoder=trainable_encoder)
        if tags is not None:
            check_type(Sequence, "a list of names", tags=tags)
            if isinstance(tags, str) or len({*tags}) < max(2, len(tags)):
                refuse("tags", "at least 2 distinct names", tags)
        super().__init__(**kwargs)
        self.lstm_units = lstm_units
        self.crf = crf
        self.dropout = dropout
        self.elmo = _elmo(encoder, trainable_encoder)
        self.static = None if static is None else _static(static)
        self.head = None
        self._batches = TaggerBatches(self.elmo, self.static)
        self._tags: list[str] = []
        self._graph: BatchGraph | None = None
        self._marginal_graph: BatchGraph | None = None
        if tags is not None:
            self._make_head(tags)
        # The clipping of the authors' taggers.
        optimizer = keras.optimizers.Adam(1e-3, global_clipnorm=5.0)
        self.compile(optimizer, tagger_loss(crf))

    def __repr__(self) -> str:
        tags = reprlib.repr([*self._tags] or None)
        return f"Tagger(tags={tags}, lstm_units={self.lstm_units}, crf={self.crf})"

    def _make_head(self, tags: Sequence[str]) -> None:
        """Makes the layers whose sizes depend on the tags, and builds the model."""
        if self.crf and len(tags) > _MOST_CRF_TAGS:
            raise ValueError(
                f"{called('crf')} must be False for more than {_MOST_CRF_TAGS} tags: "
                "scores of pairs of tags would take too much memory. "
                f"Received: {len(tags):,} tags, such as {tags[0]!r}"
            )
        self._tags = [*tags]
        self.head = TaggerHead(
            self._tags, self.lstm_units, self.crf, self.dropout, name="head"
        )
        # Not by a call: JAX cannot trace an LSTM of an unknown number of tokens.
        units = self.elmo.layers_shape[-1]
        if self.static is not None:
            units += self.static.units
            if not self.static.built:
                self.static.build()
        self.head.build((None, None, units))
        self.elmo.built = self.built = True

    @property
    def tags(self) -> list[str] | None:
        """The names of the tags, in the order of their indices; `None` before `fit`."""
        return self._tags or None

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        words = inputs["words"]
        vectors = self.elmo(words, training=training)
        if self.static is not None:
            static = self.static(inputs["static"])
            static = ops.cast(static, vectors.dtype)
            vectors = ops.concatenate([static, vectors], axis=-1)
        mask = self.token_mask(words)
        return self._head()(vectors, mask=mask, training=training)

    def predict_step(self, *args: Tensor) -> Tensor:
        """Returns indices of tags, as of Keras's `predict_step`."""
        if keras.backend.backend() == "jax":
            outputs, state = super().predict_step(*args)
            return self._head().decode(outputs), state
        return self._head().decode(super().predict_step(*args))

    def predict_on_batch(self, x: dict[str, Tensor]) -> Tensor:
        """Returns the `(batch, tokens)` indices of the best tags.

        Args:
            x: as of `call`.
        """
        if keras.backend.backend() != "tensorflow":
            return super().predict_on_batch(x)
        if self._graph is None:
            self._graph = BatchGraph(self._decoded, self.elmo.layers_shape)
        return self._graph(x)

    def marginals_on_batch(self, x: dict[str, Tensor]) -> Tensor:
        """Returns the `(batch, tokens, tags)` probabilities of all tags.

        Args:
            x: as of `call`.
        """
        if keras.backend.backend() != "tensorflow":
            return self._marginals(x)
        if self._marginal_graph is None:
            graph = BatchGraph(self._marginals, self.elmo.layers_shape)
            self._marginal_graph = graph
        return self._marginal_graph(x)

    def _marginals(self, x: dict[str, Tensor]) -> Tensor:
        return self._head().probabilities(self(x, training=False))

    def _decoded(self, x: dict[str, Tensor]) -> Tensor:
        return self._head().decode(self(x, training=False))

    def _scored(self) -> Callable[[Tensor, Tensor], tuple[Tensor, float]]:
        """Returns what computes the best tags of a batch and its loss."""

        def score(x: dict[str, Tensor], y: Tensor) -> tuple[Tensor, Tensor]:
            outputs = self(x, training=False)
            return self._head().decode(outputs), self.loss(y, outputs)

        def score_in_keras(x: dict[str, Tensor], y: Tensor) -> tuple[Tensor, float]:
            self.reset_metrics()
            loss = self.test_on_batch(x, y, return_dict=True)["loss"]
            return self.predict_on_batch(x), loss

        if keras.backend.backend() != "tensorflow":
            return score_in_keras
        return BatchGraph(score, self.elmo.layers_shape)

    def get_config(self) -> Config:
        return {
            "name": self.name,
            "trainable": self.trainable,
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
            "encoder": keras.saving.serialize_keras_object(self.elmo),
            "tags": self.tags,
            "static": keras.saving.serialize_keras_object(self.static),
            "lstm_units": self.lstm_units,
            "crf": self.crf,
            "dropout": self.dropout,
        }

    @classmethod
    def from_config(cls, config: Config, custom_objects: object = None) -> Self:
        layers = {
            name: keras.saving.deserialize_keras_object(config[name])
            for name in ("encoder", "static")
        }
        return cls(**{**config, **layers})


def _elmo(encoder: Source, trainable: bool) -> ElmoEmbedding:
    if not isinstance(encoder, ElmoEmbedding):
        return ElmoEmbedding(encoder, trainable_encoder=trainable)
    if encoder.num_representations > 1 or encoder.keep_boundaries:
        refuse("encoder", "a layer with one vector for each word", encoder)
    if trainable and not encoder.trainable_encoder:
        refuse("trainable_encoder", "False for a layer with a frozen encoder", True)
    return encoder


def _static(static: StaticEmbedding | StrPath) -> StaticEmbedding:
    if isinstance(static, StaticEmbedding):
        return static
    rule = "a StaticEmbedding, the path of a file of vectors, or None"
    check_type((str, os.PathLike), rule, static=static)
    return StaticEmbedding.from_file(static)
