"""What is exported of a `TextClassifier`."""

from collections.abc import Sequence

import keras

from keras_elmo.downstream.exported_task import OnnxText
from keras_elmo.downstream.task_export import TaskModel
from keras_elmo.downstream.text_vectors import TextVectors
from keras_elmo.files.task_description import CLASSIFIER, Task
from keras_elmo.onnx_graphs.graph import OnnxGraph
from keras_elmo.onnx_graphs.heads import (
    add_bilstm,
    add_dense,
    add_normalization,
    add_pooling,
)
from keras_elmo.text.labelled_texts import Label
from keras_elmo.utils.types import Tensor


class ExportedClassifier(TaskModel):
    """A `TextClassifier`, as an `ExportedTask`."""

    # Until they are known.
    labels: list[Label] | None = None
    multi_label: bool
    pairs: bool
    text_vectors: TextVectors
    output_layer: keras.layers.Dense

    def _known(self) -> list[Label]:
        if self.labels is None:
            raise ValueError("a TextClassifier without `labels` must be trained first")
        return self.labels

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
