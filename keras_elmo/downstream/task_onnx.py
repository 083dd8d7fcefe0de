"""A tagger or a classifier as an ONNX file: ids in, Viterbi inside."""

import json

from keras_elmo.downstream.task_model import OnnxText, TaskModel
from keras_elmo.files.onnx_session import CHAR_IDS, metadata_of
from keras_elmo.onnx_graphs.encoder_graph import add_encoder
from keras_elmo.onnx_graphs.graph import Axes, OnnxGraph, check_size, write_onnx
from keras_elmo.onnx_graphs.heads import add_static
from keras_elmo.utils.types import StrPath


def write_task_onnx(model: TaskModel, path: StrPath, quantize: str | None) -> None:
    """Writes an ONNX file; `quantize` is `"int8"`, or `None` for float32."""
    check_size(model.weights, path)
    encoder = model.elmo.encoder
    about = {"layer_norm": model.elmo.layer_norm, **model.task.as_dict()}
    metadata = metadata_of(encoder.config, encoder.tokenizer, quantize, **about)
    if model.static is not None:
        metadata["static_words"] = json.dumps(model.static.words, ensure_ascii=False)
    write_onnx(path, _graph(model, quantize is not None), metadata)


def _graph(model: TaskModel, int8: bool) -> OnnxGraph:
    graph = OnnxGraph(model.task.kind, int8=int8)
    num_ids = model.elmo.encoder.config.ids_per_token
    ids = []
    for names in model.input_names():
        # The texts of a pair have numbers of tokens of their own.
        tokens = names[0].replace(CHAR_IDS, "tokens")
        axes = [("batch", f"{tokens} + 2", num_ids), ("batch", tokens)]
        pairs = zip(names, axes, strict=False)
        ids.append([graph.input(name, "int32", sizes) for name, sizes in pairs])
    if len(ids) == 2:
        ids = [_one_batch(graph, *ids)]
    ((char_ids, *static_ids),) = ids

    encoded = add_encoder(graph, model.elmo.encoder, char_ids)
    units = model.elmo.layers_shape[-1]
    elmo = encoded.mixed(graph, model.elmo.mixes[0], units)
    static = None
    if model.static is not None:
        static = add_static(graph, model.static.vectors, *static_ids)
    text = OnnxText(elmo, static, encoded.is_token, encoded.lengths(graph))
    for name, x in model.add_outputs(graph, text).items():
        dtype = "int32" if name == "tags" else "float32"
        graph.output(x, dtype, _axes(name, len(model.task.names)), name)
    return graph


def _axes(name: str, num_names: int) -> Axes:
    if name == "probabilities":
        return "batch", num_names
    return ("batch", "tokens", *([num_names] if name == "marginals" else ()))


def _one_batch(graph: OnnxGraph, first: list[str], second: list[str]) -> list[str]:
    """Returns the ids of two texts as those of one batch, the first ones first."""
    sizes = [
        graph.slice(graph.add("Shape", x[0]), 1, 2, axis=0) for x in (first, second)
    ]
    longest = graph.add("Max", *sizes)
    joined = []
    for k, pair in enumerate(zip(first, second, strict=True)):
        # Character ids have an axis more.
        before = graph.integers(*[0] * (4 - k))
        after = [graph.integers(0)] * (1 - k)
        padded = []
        for x, size in zip(pair, sizes, strict=True):
            missing = graph.add("Sub", longest, size)
            pads = graph.add("Concat", before, missing, *after, axis=0)
            padded.append(graph.add("Pad", x, pads))
        joined.append(graph.add("Concat", *padded, axis=0))
    return joined
