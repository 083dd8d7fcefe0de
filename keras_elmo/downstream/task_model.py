"""What a tagger and a classifier share: their vectors, `fit`, what is exported."""

import inspect
import os
from collections.abc import Iterable, Sequence
from itertools import chain
from types import NoneType
from typing import NamedTuple, Self

import keras
import numpy as np

from keras_elmo.downstream.best_epoch import BestEpoch
from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.layer_batches import LayerBatches
from keras_elmo.downstream.precompute import layer_batches
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.files.description import STATIC_IDS, Task
from keras_elmo.files.onnx_session import CHAR_IDS
from keras_elmo.files.sources import Source
from keras_elmo.onnx_graphs.graph import OnnxGraph
from keras_elmo.text.batch_shapes import rounded_up
from keras_elmo.text.batching import Tokens
from keras_elmo.text.plain_ids import PlainIds, StaticIds
from keras_elmo.utils.checks import check_at_least, check_type, refuse
from keras_elmo.utils.types import Config, StrPath, Tensor

_CALLBACKS = (keras.callbacks.Callback, list, tuple, NoneType)
# JAX compiles for seconds whenever a batch has another number of tokens.
_JAX_TOKENS = 16


class OnnxText(NamedTuple):
    """The words of a batch of texts in an ONNX graph.

    Vectors are `(batch, tokens, units)`, `is_token` is `(batch, tokens)` booleans, and
    `lengths` `(batch,)` int32.
    """

    elmo: str
    static: str | None
    is_token: str
    lengths: str


class TaskModel(keras.Model):
    """A Keras model of a task on ELMo's vectors, and on static ones if any."""

    elmo: ElmoEmbedding
    static: StaticEmbedding | None

    def _set_vectors(
        self,
        encoder: Source,
        static: StaticEmbedding | StrPath | None,
        names: Sequence[tuple[str, str]],
        trainable_encoder: bool = False,
    ) -> None:
        """Sets `elmo` and `static`.

        For each text of a pair, or for the only one, `names` are what the inputs of
        both are called.
        """
        if not isinstance(encoder, ElmoEmbedding):
            encoder = ElmoEmbedding(encoder, trainable_encoder=trainable_encoder)
        elif encoder.num_representations > 1 or encoder.keep_boundaries:
            refuse("encoder", "a layer with one vector for each word", encoder)
        elif trainable_encoder and not encoder.trainable_encoder:
            refuse("trainable_encoder", "False for a layer with a frozen encoder", True)
        if not isinstance(static, StaticEmbedding | None):
            rule = "a StaticEmbedding, the path of a file of vectors, or None"
            check_type((str, os.PathLike), rule, static=static)
            static = StaticEmbedding.from_file(static)
        if static is not None and not static.built:
            static.build()
        self.elmo = encoder
        self.static = static
        self._names = [pair[:1] if static is None else pair for pair in names]
        self._char_ids = PlainIds(encoder.encoder.config.token_vocabulary)
        self._static_ids = None if static is None else StaticIds(static.words)

    def _inputs(
        self, texts: Sequence[Sequence[Tokens]], any_rows: bool = True
    ) -> dict[str, np.ndarray]:
        """Returns the inputs of a batch by name.

        Of pairs, `texts` are the first sentences and the second ones. On JAX, batches
        have few numbers of tokens and, unless they may have any, of rows: empty
        sentences follow.
        """
        width = max([1, *map(len, chain.from_iterable(texts))])
        if keras.backend.backend() == "jax":
            width += -width % _JAX_TOKENS
            rows = len(texts[0]) if any_rows else rounded_up(len(texts[0]))
            texts = [[*column, *[[]] * (rows - len(column))] for column in texts]
        inputs = {}
        for (name, *static), sentences in zip(self._names, texts, strict=True):
            inputs[name] = self._char_ids(sentences, width)
            if self._static_ids is not None:
                inputs[static[0]] = self._static_ids(sentences, width)
        return inputs

    def _precomputed(
        self, batches: Iterable[tuple[Tensor, ...]], shuffle: bool
    ) -> LayerBatches:
        """Returns batches with the layers of the frozen biLM for character ids."""
        names = [name for name, *_ in self._names]
        return layer_batches(self.elmo, batches, shuffle, inputs=names)

    @staticmethod
    def _check_fit(
        epochs: int,
        batch_size: int,
        patience: int | None,
        callbacks: object,
        verbose: str | int,
    ) -> None:
        """Checks these arguments of `fit` before it reads any data."""
        check_at_least(1, epochs=epochs, batch_size=batch_size)
        if patience is not None:
            check_at_least(1, patience=patience)
        check_type(_CALLBACKS, "callbacks of Keras", callbacks=callbacks)
        if verbose not in ("auto", 0, 1, 2):
            refuse("verbose", "'auto', 0, 1 or 2", verbose)

    def _fit(
        self,
        batches: Iterable[tuple[Tensor, ...]],
        patience: int | None,
        callbacks: object,
        scoring: Sequence[keras.callbacks.Callback] = (),
        **arguments: object,
    ) -> keras.callbacks.History:
        """Trains on batches, which shuffle themselves, and keeps the best epoch.

        `scoring` are callbacks that add scores to the logs.
        """
        self._build_optimizer()
        best = BestEpoch(patience)
        called = [*scoring, best, *keras.tree.flatten(callbacks or ())]
        try:
            return super().fit(batches, callbacks=called, shuffle=False, **arguments)
        finally:
            best.restore()

    def _build_optimizer(self) -> None:
        """Makes the optimizer's variables before a graph is traced, not while it is.

        Otherwise TensorFlow traces a second graph, in which they exist.
        """
        if keras.backend.backend() != "tensorflow" or self.optimizer.built:
            return
        with self.distribute_strategy.scope():
            self.optimizer.build(self.trainable_variables)

    def get_config(self) -> Config:
        arguments = inspect.signature(type(self).__init__).parameters.keys()
        names = arguments - {"self", "encoder", "static", "trainable_encoder", "kwargs"}
        config = {name: getattr(self, name) for name in (*names, "name", "trainable")}
        config["encoder"] = self.elmo.get_config()
        config["static"] = self.static and self.static.get_config()
        config["dtype"] = self.dtype_policy
        return dict(keras.saving.serialize_keras_object(config))

    @classmethod
    def from_config(cls, config: Config, custom_objects: object = None) -> Self:
        # Taggers were once stored with Keras's form of an object.
        elmo, static = (
            stored and stored.get("config", stored)
            for stored in (config["encoder"], config["static"])
        )
        parts = {
            "encoder": ElmoEmbedding.from_config(elmo),
            "static": static and StaticEmbedding.from_config(static),
        }
        return cls(**{**config, **parts})

    @property
    def task(self) -> Task:
        """What the model does. Raises `ValueError` before it is trained."""
        raise NotImplementedError

    def outputs_of_ids(self, texts: Sequence[Sequence[Tensor]]) -> dict[str, Tensor]:
        """Returns the outputs of an exported file that takes ids, by their names.

        A tagger has `tags`, indices that are -1 where masked, their probabilities as
        `scores`, and the probabilities of all tags as `marginals`; a classifier has
        `probabilities`. Each of the `texts` has character ids and, with static vectors,
        their ids.
        """
        raise NotImplementedError

    def add_outputs(self, graph: OnnxGraph, text: OnnxText) -> dict[str, str]:
        """Adds the operators above the words; returns what `outputs_of_ids` does."""
        raise NotImplementedError

    def input_names(self) -> list[list[str]]:
        """Returns the names of an exported file's ids, for each text."""
        names = [CHAR_IDS] if self.static is None else [CHAR_IDS, STATIC_IDS]
        return [[f"{prefix}{name}" for name in names] for prefix in self.task.prefixes]
