"""The model inside of a `TextClassifier`: texts to probabilities of labels."""

import reprlib
from collections.abc import Mapping, Sequence
from typing import Self

import keras

from keras_elmo.config import TOKENIZER_IF_UNKNOWN
from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.downstream.task_batches import TaskInputs
from keras_elmo.downstream.task_model import OnnxText, TaskModel
from keras_elmo.downstream.text_vectors import TextVectors
from keras_elmo.files.description import CLASSIFIER, Task
from keras_elmo.onnx_graphs.graph import OnnxGraph
from keras_elmo.onnx_graphs.heads import (
    add_bilstm,
    add_dense,
    add_normalization,
    add_pooling,
)
from keras_elmo.text.answers import LabelsTexts
from keras_elmo.text.labelled_texts import Label, label_names
from keras_elmo.text.tokenizer import Tokenizer
from keras_elmo.utils.types import Config, Tensor


class TextClassifierModel(LabelsTexts, TaskModel):
    """What `TextClassifier` says of its arguments and calls holds here."""

    # `None` until they are known.
    labels: list[Label] | None = None
    pooling: Sequence[str]
    multi_label: bool
    pairs: bool
    text_vectors: TextVectors
    output_layer: keras.layers.Dense
    _inputs: TaskInputs

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
            texts = [[inputs[name] for name in names] for names in self._inputs.names]
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

    def get_config(self) -> Config:
        names = ("lstm_units", "hidden", "dropout", "multi_label", "pairs", "name")
        return {
            "encoder": self.elmo.get_config(),
            "labels": self.labels and list(self.labels),
            "pooling": list(self.pooling),
            "static": self.static and self.static.get_config(),
            **{name: getattr(self, name) for name in names},
        }

    @classmethod
    def from_config(cls, config: Config, custom_objects: object = None) -> Self:
        elmo = ElmoEmbedding.from_config(config["encoder"])
        static = config["static"]
        if static is not None:
            static = StaticEmbedding.from_config(static)
        return cls(**{**config, "encoder": elmo, "static": static})


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
