"""What a tagger and a classifier share: their vectors, `fit`, what is exported."""

import os
from collections.abc import Iterable, Sequence
from types import NoneType
from typing import NamedTuple

import keras

from keras_elmo.downstream.best_epoch import BestEpoch
from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.files.description import STATIC_IDS, Task
from keras_elmo.files.onnx_session import CHAR_IDS
from keras_elmo.files.sources import Source
from keras_elmo.onnx_graphs.graph import OnnxGraph
from keras_elmo.utils.checks import check_at_least, check_type, refuse
from keras_elmo.utils.types import StrPath, Tensor

_CALLBACKS = (keras.callbacks.Callback, list, tuple, NoneType)


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
        trainable_encoder: bool = False,
    ) -> None:
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

    @property
    def task(self) -> Task:
        """What the model does. Raises `ValueError` before it is trained."""
        raise NotImplementedError

    def outputs_of_ids(self, texts: Sequence[Sequence[Tensor]]) -> dict[str, Tensor]:
        """Returns the outputs of an exported file that takes ids, by their names.

        These are a tagger's `tags`, indices that are -1 where masked, `scores`, their
        probabilities, and `marginals`, those of all tags; a classifier's
        `probabilities`. Each of the `texts` has character ids and, if there are static
        vectors, their ids.
        """
        raise NotImplementedError

    def add_outputs(self, graph: OnnxGraph, text: OnnxText) -> dict[str, str]:
        """Adds the operators above the words; returns outputs by their names.

        They are those of `outputs_of_ids`.
        """
        raise NotImplementedError

    def input_names(self) -> list[list[str]]:
        """Returns the names of an exported file's ids, for each text."""
        names = [CHAR_IDS] if self.static is None else [CHAR_IDS, STATIC_IDS]
        return [[f"{prefix}{name}" for name in names] for prefix in self.task.prefixes]
