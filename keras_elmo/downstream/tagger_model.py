"""The model inside of a `Tagger`: batches of words to scores of tags."""

import reprlib
from collections.abc import Iterable, Iterator, Sequence

import keras
import numpy as np
from keras import ops

from keras_elmo.downstream.layer_batches import (
    LayerBatch,
    LayerBatches,
    layer_dataset,
)
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.downstream.task_model import OnnxText, TaskModel
from keras_elmo.downstream.token_mask import CharacterMask
from keras_elmo.files.description import TAGGER, Task
from keras_elmo.files.sources import Source
from keras_elmo.layers.bilm import run_bilstm
from keras_elmo.layers.crf import CRF, CRFLoss
from keras_elmo.layers.crf_paths import crf_decode, crf_marginals, place_of_greatest
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
from keras_elmo.utils.one_graph import batch_function
from keras_elmo.utils.types import Shape, StrPath, Tensor

# Half a gigabyte for 32 sentences of 50 words.
_MOST_CRF_TAGS = 300


class TaggerHead(keras.layers.Layer):
    """Runs dropout, a bidirectional LSTM, a dense layer, and a CRF.

    Takes vectors `(batch, tokens, units)` and a mask `(batch, tokens)`; returns what
    `Tagger` does, which explains the other arguments.
    """

    def __init__(
        self,
        tags: list[str],
        lstm_units: int,
        crf: bool,
        dropout: float,
        **kwargs: object,
    ) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.tags = list(tags)
        self.dropout = keras.layers.Dropout(dropout)
        self.lstm = None
        if lstm_units:
            lstm = keras.layers.LSTM(lstm_units, return_sequences=True, name="lstm")
            self.lstm = keras.layers.Bidirectional(lstm, name="bilstm")
        self.scores = keras.layers.Dense(len(tags), name="scores")
        self.crf = CRF(len(tags), tags, name="crf") if crf else None

    def build(self, vectors_shape: Shape) -> None:
        shape = tuple(vectors_shape)
        if self.lstm is not None:
            self.lstm.build(shape)
            shape = self.lstm.compute_output_shape(shape)
        self.scores.build(shape)
        if self.crf is not None:
            self.crf.build(self.scores.compute_output_shape(shape))

    def call(
        self, vectors: Tensor, mask: Tensor, training: bool | None = None
    ) -> Tensor:
        vectors = self.dropout(vectors, training=training)
        if self.lstm is not None:
            vectors = run_bilstm(self.lstm, vectors, mask, training)
            vectors = self.dropout(vectors, training=training)
        scores = self.scores(vectors)
        return scores if self.crf is None else self.crf(scores, mask=mask)

    def compute_mask(self, vectors: Tensor, previous_mask: Tensor = None) -> None:
        # The CRF's outputs and the labels of the other loss tell what is masked.
        return None

    def decode(self, outputs: Tensor) -> Tensor:
        """Returns the `(batch, tokens)` indices of the best tags."""
        if self.crf is None:
            return place_of_greatest(outputs, axis=-1)
        return crf_decode(outputs)[0]

    def probabilities(self, outputs: Tensor) -> Tensor:
        """Returns the `(batch, tokens, tags)` probabilities of all tags."""
        if self.crf is None:
            return ops.softmax(ops.cast(outputs, "float32"), axis=-1)
        return crf_marginals(outputs)


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
        self._set_vectors(encoder, static, [("words", "static")], trainable_encoder)
        self.head = None
        self._run = batch_function(self, self._outputs)
        if tags is not None:
            self._make_head(tags)
        # The clipping of the authors' taggers.
        optimizer = keras.optimizers.Adam(1e-3, global_clipnorm=5.0)
        # Labels are -1 where there is no tag.
        entropy = keras.losses.SparseCategoricalCrossentropy
        loss = CRFLoss() if crf else entropy(from_logits=True, ignore_class=-1)
        self.compile(optimizer, loss)

    def __repr__(self) -> str:
        tags = reprlib.repr(self.tags and [*self.tags])
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
        sizes = (self.lstm_units, self.crf, self.dropout)
        self.head = TaggerHead([*tags], *sizes, name="head")
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
        return None if self.head is None else self.head.tags

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
                x = self._inputs([[sentences[k] for k in group]], labels is not None)
                if labels is None:
                    yield (x,)
                    continue
                y = np.full((len(group), x["words"].shape[1] - 2), NO_TAG, "int32")
                for row, k in zip(y, group, strict=True):
                    row[: len(labels[k])] = labels[k]
                yield x, y

        if not self.elmo.trainable_encoder:
            layers = self._precomputed(batches(), shuffle)
        else:
            parts = [LayerBatch({}, x, tuple(y)) for x, *y in batches()]
            layers = LayerBatches(self.elmo.layers_shape, [], parts, shuffle)
        # Only `fit` needs a dataset of Keras, which takes 0.1 s to make.
        return groups, layer_dataset(layers) if shuffle else layers

    def _outputs(
        self, x: dict[str, Tensor], *y: Tensor, names: Sequence[str]
    ) -> list[Tensor]:
        """Computes `"tags"`, `"marginals"` and `"loss"` by one pass of the model."""
        head, outputs = self._head(), self(x, training=False)
        compute = {
            "tags": lambda: head.decode(outputs),
            "marginals": lambda: head.probabilities(outputs),
            "loss": lambda: self.loss(*y, outputs),
        }
        return [compute[name]() for name in names]

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
