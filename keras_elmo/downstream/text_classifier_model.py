"""The model inside of a `TextClassifier`: texts to probabilities of labels."""

import reprlib
from collections.abc import Iterable, Mapping, Sequence

import keras
from keras import ops

from keras_elmo.config import TOKENIZER_IF_UNKNOWN
from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.downstream.task_model import OnnxText, TaskModel
from keras_elmo.files.description import CLASSIFIER, Task
from keras_elmo.files.sources import Source
from keras_elmo.layers.bilm import run_bilstm
from keras_elmo.onnx_graphs.graph import OnnxGraph
from keras_elmo.onnx_graphs.heads import (
    add_bilstm,
    add_dense,
    add_normalization,
    add_pooling,
)
from keras_elmo.text.answers import LabelsTexts
from keras_elmo.text.labelled_texts import ExampleReader, Label, label_names
from keras_elmo.text.tokenizer import Tokenizer
from keras_elmo.utils.checks import check_at_least, check_boolean, check_rate, refuse
from keras_elmo.utils.types import StrPath, Tensor

_POOLS = ["mean"], ["max"], ["mean", "max"], ["max", "mean"]
# Less than any value.
_LEAST = -1e9


class TextVectors(keras.layers.Layer):
    """Pools word vectors to `(batch, units)` float32; see `TextClassifier`.

    Takes, for each text of a pair or for the only one, what `elmo` reads, and what
    `static` reads if there is one. Their vectors are normalised separately.
    """

    def __init__(
        self,
        elmo: ElmoEmbedding,
        static: StaticEmbedding | None,
        pooling: Sequence[str],
        lstm_units: int,
        hidden: int,
        dropout: float,
        pairs: bool,
    ) -> None:
        super().__init__(dtype="float32")
        layers = keras.layers
        self.elmo = elmo
        self.static = static
        self.pooling = list(pooling)
        sizes = [elmo.layers_shape[-1]] + ([] if static is None else [static.units])
        if static is not None and not static.built:
            static.build()
        self.normalizations = []
        for size in sizes:
            normalization = layers.LayerNormalization(dtype="float32")
            normalization.build((None, None, size))
            self.normalizations.append(normalization)
        # Whole features: one that some words alone lack would have another maximum.
        self.word_dropout = layers.SpatialDropout1D(dropout, dtype="float32")
        self.lstm = None
        if lstm_units:
            lstm = layers.LSTM(lstm_units, return_sequences=True, dtype="float32")
            self.lstm = layers.Bidirectional(lstm, dtype="float32")
            self.lstm.build((None, None, sum(sizes)))
        self.units = len(pooling) * (2 * lstm_units or sum(sizes)) * (4 if pairs else 1)
        self.hidden_layer = None
        if hidden:
            dense = layers.Dense(hidden, activation="relu", dtype="float32")
            dense.build((None, self.units))
            self.hidden_layer, self.units = dense, hidden
        self.dropout = layers.Dropout(dropout, dtype="float32")
        self.built = True

    def call(
        self, texts: Sequence[Sequence[Tensor]], training: bool | None = None
    ) -> Tensor:
        x, *second = [self._pooled(inputs, training) for inputs in texts]
        for y in second:
            x = ops.concatenate([x, y, ops.abs(x - y), x * y], axis=-1)
        if self.hidden_layer is None:
            return x
        return self.dropout(self.hidden_layer(x), training=training)

    def _pooled(self, inputs: Sequence[Tensor], training: bool | None) -> Tensor:
        ids, *static_ids = inputs
        vectors = [self.elmo(ids, training=training)]
        if self.static is not None:
            vectors.append(ops.cast(self.static(static_ids[0]), "float32"))
        parts = zip(self.normalizations, vectors, strict=True)
        x = ops.concatenate([normalize(part) for normalize, part in parts], axis=-1)
        x = self.word_dropout(x, training=training)
        mask = self.elmo.compute_mask(ids)
        if self.lstm is not None:
            x = run_bilstm(self.lstm, x, mask, training)
        # A text without words keeps a position.
        kept = ops.expand_dims(mask, -1)
        num_kept = ops.sum(ops.cast(kept, "float32"), axis=1)
        pools = {
            "mean": ops.sum(ops.where(kept, x, 0.0), axis=1) / num_kept,
            "max": ops.max(ops.where(kept, x, _LEAST), axis=1),
        }
        return ops.concatenate([pools[name] for name in self.pooling], axis=-1)


class TextClassifierModel(LabelsTexts, TaskModel):
    """What `TextClassifier` says of its arguments and calls holds here."""

    # `None` until they are known.
    labels: list[Label] | None = None

    def __init__(
        self,
        encoder: Source,
        labels: Iterable[Label] | None = None,
        pooling: str | Sequence[str] = ("mean", "max"),
        static: StaticEmbedding | StrPath | None = None,
        lstm_units: int = 64,
        hidden: int = 0,
        dropout: float = 0.5,
        multi_label: bool = False,
        pairs: bool = False,
        **kwargs: object,
    ) -> None:
        check_at_least(0, lstm_units=lstm_units, hidden=hidden)
        check_rate(dropout=dropout)
        check_boolean(multi_label=multi_label, pairs=pairs)
        pools = [pooling] if isinstance(pooling, str) else pooling
        if not isinstance(pools, list | tuple) or list(pools) not in _POOLS:
            refuse("pooling", "'mean', 'max' or both", pooling)
        super().__init__(**kwargs)
        names = ("first", "first_static"), ("second", "second_static")
        self._set_vectors(encoder, static, names[: 1 + pairs])
        self.pooling = list(pools)
        self.lstm_units = lstm_units
        self.hidden = hidden
        self.dropout = dropout
        self.multi_label = multi_label
        self.pairs = pairs
        self.text_vectors = TextVectors(
            self.elmo, self.static, self.pooling, lstm_units, hidden, dropout, pairs
        )
        self._read = ExampleReader(pairs, multi_label)
        if labels is not None:
            self._set_labels(labels)
        kind = "Binary" if multi_label else "SparseCategorical"
        loss = getattr(keras.losses, f"{kind}Crossentropy")()
        accuracy = getattr(keras.metrics, f"{kind}Accuracy")(name="accuracy")
        self.compile(keras.optimizers.Adam(1e-3), loss, metrics=[accuracy])

    def __repr__(self) -> str:
        labels = reprlib.repr(self.labels and [*self.labels])
        kinds = f"multi_label={self.multi_label}, pairs={self.pairs}"
        return f"TextClassifier(labels={labels}, {kinds})"

    def _set_labels(self, labels: object) -> None:
        self.labels = names = label_names(labels, 1 if self.multi_label else 2)
        activation = "sigmoid" if self.multi_label else "softmax"
        dense = keras.layers.Dense(len(names), activation=activation, dtype="float32")
        dense.build((None, self.text_vectors.units))
        self.output_layer = dense
        self.built = True

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if isinstance(inputs, Mapping):
            # `fit` has read the text already.
            texts = [[inputs[name] for name in names] for names in self._names]
        else:
            texts = [*map(self.ids_of, inputs if self.pairs else [inputs])]
        return self.output_layer(self.text_vectors(texts, training=training))

    def ids_of(self, strings: Tensor) -> list[Tensor]:
        """Returns what `elmo` reads, and `static` if there is one, in a graph or not.

        Strings are text `(batch,)`, or words `(batch, tokens)`.
        """
        if len(strings.shape) == 1:
            kind = self.elmo.encoder.tokenizer or TOKENIZER_IF_UNKNOWN
            strings = Tokenizer(kind)(strings)
        ids = [self.elmo.char_ids(strings)]
        return ids if self.static is None else [*ids, self.static.ids(strings)]

    # === Files ===

    @property
    def task(self) -> Task:
        names = tuple(map(str, self._known()))
        return Task(CLASSIFIER, names, self.multi_label, self.pairs)

    def outputs_of_ids(self, texts: Sequence[Sequence[Tensor]]) -> dict[str, Tensor]:
        vectors = self.text_vectors(texts, training=False)
        return {"probabilities": self.output_layer(vectors)}

    def add_outputs(self, graph: OnnxGraph, text: OnnxText) -> dict[str, str]:
        layer = self.text_vectors
        vectors = [text.elmo, *([] if text.static is None else [text.static])]
        pairs = zip(layer.normalizations, vectors, strict=True)
        parts = [add_normalization(graph, norm, x) for norm, x in pairs]
        x = graph.add("Concat", *parts, axis=2)
        kept = _keep_first_of_empty(graph, text.is_token)
        if layer.lstm is not None:
            least = graph.constant(1, "int32")
            lengths = graph.add("Max", text.lengths, least)
            x = add_bilstm(graph, layer.lstm, x, lengths)
        kept = graph.add("Unsqueeze", kept, graph.integers(2))
        x = add_pooling(graph, x, kept, layer.pooling)
        if self.pairs:
            u, v = graph.add_several(2, "Split", x, axis=0)
            difference = graph.add("Abs", graph.add("Sub", u, v))
            product = graph.add("Mul", u, v)
            x = graph.add("Concat", u, v, difference, product, axis=1)
        if layer.hidden_layer is not None:
            x = graph.add("Relu", add_dense(graph, layer.hidden_layer, x))
        x = add_dense(graph, self.output_layer, x)
        if self.multi_label:
            return {"probabilities": graph.add("Sigmoid", x)}
        return {"probabilities": graph.add("Softmax", x, axis=-1)}


def _keep_first_of_empty(graph: OnnxGraph, mask: str) -> str:
    """Returns a mask in which a text without words keeps its first position."""
    number = graph.add("CumSum", graph.cast(mask, "int32"), graph.constant(1, "int64"))
    last = graph.add("ReduceMax", number, axes=[1], keepdims=1)
    zero = graph.constant(0, "int32")
    empty = graph.add("Equal", last, zero)
    ones = graph.add("Add", graph.add("Mul", number, zero), graph.constant(1, "int32"))
    place = graph.add("CumSum", ones, graph.constant(1, "int64"))
    first = graph.add("Equal", place, graph.constant(1, "int32"))
    return graph.add("Or", mask, graph.add("And", empty, first))
