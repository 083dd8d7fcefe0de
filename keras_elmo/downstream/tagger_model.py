"""The model inside of a `Tagger`: batches of words to scores of tags."""

import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self

import keras
import numpy as np
from keras import ops

from keras_elmo.downstream.layer_batches import (
    LayerBatch,
    LayerBatches,
    layer_dataset,
)
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.downstream.tagger_head import TaggerHead, tagger_loss
from keras_elmo.downstream.task_batches import TaskInputs, num_padded, with_padding_rows
from keras_elmo.downstream.task_model import OnnxText, TaskModel
from keras_elmo.downstream.token_mask import CharacterMask
from keras_elmo.files.description import TAGGER, Task
from keras_elmo.files.sources import Source
from keras_elmo.onnx_graphs.crf_graph import TagPaths
from keras_elmo.onnx_graphs.graph import OnnxGraph
from keras_elmo.onnx_graphs.heads import add_bilstm, add_dense
from keras_elmo.text.batching import Tokens, batches_of_like_length
from keras_elmo.text.tagged_sentences import NO_TAG
from keras_elmo.utils.checks import (
    called,
    check_at_least,
    check_boolean,
    check_rate,
    check_type,
    refuse,
)
from keras_elmo.utils.one_graph import BatchGraph, JaxFunction
from keras_elmo.utils.types import Config, StrPath, Tensor

# Half a gigabyte for 32 sentences of 50 words.
_MOST_CRF_TAGS = 300


class TaggerModel(TaskModel):
    """What `Tagger` says of its arguments and calls holds here."""

    # `None` until the tags are known. No value here: PyTorch would find it instead.
    head: TaggerHead | None

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
        self._set_vectors(encoder, static, trainable_encoder)
        self.head = None
        self._inputs = TaskInputs(self.elmo, self.static, ("words", "static"))
        self._tags: list[str] = []
        self._best_tags = self._graph(lambda x: self._decode(x)[0])
        self._marginals = self._graph(
            lambda x: self._head().probabilities(self(x, training=False))
        )
        self._both = self._graph(self._decode_both)
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
            flag = called("crf")
            raise ValueError(
                f"A CRF must have at most {_MOST_CRF_TAGS} tags, as scores of pairs of "
                f"tags take memory: give {flag if flag[0] == '-' else 'crf=False'}. "
                f"Received: {len(tags):,} tags, such as {tags[0]!r}"
            )
        self._tags = [*tags]
        self.head = TaggerHead(
            self._tags, self.lstm_units, self.crf, self.dropout, name="head"
        )
        units = self.elmo.layers_shape[-1]
        if self.static is not None:
            units += self.static.units
        # Not by a call: JAX cannot trace an LSTM of an unknown number of tokens.
        self.head.build((None, None, units))
        self.elmo.built = self.built = True

    def _head(self) -> TaggerHead:
        if self.head is None:
            raise ValueError(
                "`tags` must be given, or learned by `fit`, before the tagger is used. "
                "Received: tags=None"
            )
        return self.head

    @property
    def tags(self) -> list[str] | None:
        """The names of the tags, in the order of their indices; `None` before `fit`."""
        return self._tags or None

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        words = inputs["words"]
        vectors = self.elmo(words, training=training)
        if self.static is not None:
            static = ops.cast(self.static(inputs["static"]), vectors.dtype)
            vectors = ops.concatenate([static, vectors], axis=-1)
        mask = CharacterMask().tokens(words)
        return self._head()(vectors, mask=mask, training=training)

    def _prepared(
        self,
        sentences: Sequence[Tokens],
        batch_size: int,
        labels: Sequence[Sequence[int]] | None = None,
        shuffle: bool = False,
    ) -> tuple[list[list[int]], Iterable[tuple[Tensor, ...]]]:
        """Computes what does not change during training, for any number of passes.

        Returns the places of the sentences in each batch, and the batches, `(x,)` or
        `(x, y)`. A sentence without words is in none; sentences with an unknown tag are
        in batches of their own.
        """
        with_words = [k for k, sentence in enumerate(sentences) if sentence]
        unknown = {k for k in with_words if labels and NO_TAG in labels[k]}
        groups = [
            [places[k] for k in batch]
            for places in ([k for k in with_words if k not in unknown], sorted(unknown))
            for batch in batches_of_like_length(
                [len(sentences[k]) for k in places], batch_size
            )
        ]

        def batches() -> Iterator[tuple[Tensor, ...]]:
            for group in groups:
                words = [sentences[k] for k in group]
                width = num_padded([words])
                if labels is None:
                    yield (self._inputs([with_padding_rows(words)], width),)
                    continue
                x = self._inputs([words], width)
                y = np.full((len(group), width), NO_TAG, "int32")
                for row, k in zip(y, group, strict=True):
                    row[: len(labels[k])] = labels[k]
                yield x, y

        if not self.elmo.trainable_encoder:
            layers = self._inputs.precomputed(batches(), shuffle)
        else:
            parts = [LayerBatch({}, x, tuple(y)) for x, *y in batches()]
            layers = LayerBatches(self.elmo.layers_shape, [], parts, shuffle)
        # Only `fit` needs a dataset of Keras, which takes 0.1 s to make.
        return groups, layer_dataset(layers) if shuffle else layers

    # === Batches to tags ===

    def predict_step(self, *args: Tensor) -> Tensor:
        """Returns the indices of tags, as Keras's `predict_step` returns outputs."""
        outputs = super().predict_step(*args)
        if keras.backend.backend() == "jax":
            return self._head().decode(outputs[0]), outputs[1]
        return self._head().decode(outputs)

    def predict_on_batch(self, x: dict[str, Tensor]) -> Tensor:
        """Returns the `(batch, tokens)` indices of the best tags."""
        if keras.backend.backend() != "tensorflow":
            return super().predict_on_batch(x)
        return self._best_tags(x)

    def outputs_on_batch(
        self, x: dict[str, Tensor], outputs: Sequence[str]
    ) -> tuple[Tensor, ...]:
        """Returns `"tags"`, `"marginals"`, or both, of one pass of the model."""
        if len(outputs) > 1:
            return self._both(x)
        return (self.predict_on_batch(x) if "tags" in outputs else self._marginals(x),)

    def _graph(self, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """Returns a function of batches, compiled where the backend compiles."""
        backend = keras.backend.backend()
        if backend == "tensorflow":
            return BatchGraph(function)
        return JaxFunction(self, function) if backend == "jax" else function

    def _decode(self, x: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Returns the best tags of a batch, and what the loss is computed of."""
        outputs = self(x, training=False)
        return self._head().decode(outputs), outputs

    def _decode_both(self, x: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Returns the best tags of a batch, and the probabilities of all tags."""
        tags, outputs = self._decode(x)
        return tags, self._head().probabilities(outputs)

    def _scored(self) -> Callable[[Tensor, Tensor], tuple[Tensor, float]]:
        """Returns what computes the best tags of a batch and its loss."""

        def score(x: dict[str, Tensor], y: Tensor) -> tuple[Tensor, Tensor]:
            tags, outputs = self._decode(x)
            return tags, self.loss(y, outputs)

        def score_in_keras(x: dict[str, Tensor], y: Tensor) -> tuple[Tensor, float]:
            self.reset_metrics()
            loss = self.test_on_batch(x, y, return_dict=True)["loss"]
            return self.predict_on_batch(x), loss

        is_graph = keras.backend.backend() == "tensorflow"
        return self._graph(score) if is_graph else score_in_keras

    # === Files ===

    @property
    def task(self) -> Task:
        return Task(TAGGER, tuple(self._head().tags))

    def outputs_of_ids(self, texts: Sequence[Sequence[Tensor]]) -> dict[str, Tensor]:
        (ids,) = texts
        inputs = dict(zip(("words", "static"), ids, strict=False))
        head, outputs = self._head(), self(inputs, training=False)
        tags = ops.cast(head.decode(outputs), "int32")
        marginals = head.probabilities(outputs)
        places = ops.expand_dims(tags, -1)
        scores = ops.take_along_axis(marginals, places, axis=-1)[..., 0]
        is_token = CharacterMask().tokens(ids[0])
        return {
            "tags": ops.where(is_token, tags, -1),
            "scores": ops.where(is_token, scores, 0.0),
            "marginals": ops.where(ops.expand_dims(is_token, -1), marginals, 0.0),
        }

    def add_outputs(self, graph: OnnxGraph, text: OnnxText) -> dict[str, str]:
        head = self._head()
        x = text.elmo
        if text.static is not None:
            x = graph.add("Concat", text.static, x, axis=2)
        if head.lstm is not None:
            x = add_bilstm(graph, head.lstm, x, text.lengths)
        scores = add_dense(graph, head.scores, x)
        if head.crf is None:
            tags = graph.add("ArgMax", scores, axis=2, keepdims=0)
            probabilities = graph.add("Softmax", scores, axis=-1)
        else:
            paths = TagPaths(graph, head.crf, scores, text.lengths, text.is_token)
            tags, probabilities = paths.best(), paths.marginals()
        places = graph.add("Unsqueeze", tags, graph.integers(2))
        best = graph.add("GatherElements", probabilities, places, axis=2)
        best = graph.add("Squeeze", best, graph.integers(2))
        no_tag, zero = graph.constant(-1, "int32"), graph.constant(0.0)
        tags = graph.cast(tags, "int32")
        mask = graph.add("Unsqueeze", text.is_token, graph.integers(2))
        return {
            "tags": graph.add("Where", text.is_token, tags, no_tag),
            "scores": graph.add("Where", text.is_token, best, zero),
            "marginals": graph.add("Where", mask, probabilities, zero),
        }

    def get_config(self) -> Config:
        names = ("tags", "lstm_units", "crf", "dropout", "name", "trainable")
        return {
            **{name: getattr(self, name) for name in names},
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
            "encoder": keras.saving.serialize_keras_object(self.elmo),
            "static": keras.saving.serialize_keras_object(self.static),
        }

    @classmethod
    def from_config(cls, config: Config, custom_objects: object = None) -> Self:
        layers = {
            name: keras.saving.deserialize_keras_object(config[name])
            for name in ("encoder", "static")
        }
        return cls(**{**config, **layers})
