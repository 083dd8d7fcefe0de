"""The encoder and its mix as an ONNX file, which needs neither TensorFlow nor Keras."""

import os
from typing import Any

from keras_elmo.config import MAX_CHARACTERS
from keras_elmo.files.loading import load_embedding
from keras_elmo.files.onnx_graph import TO_THE_END, OnnxGraph
from keras_elmo.files.onnx_layers import add_bilm, add_character_cnn, add_mix
from keras_elmo.models.elmo_embedding import ElmoEmbedding
from keras_elmo.utils.files import check_room, replacing

# Of a file in this format, by its own rules.
_MOST_BYTES = 2**31 - 1


def export_onnx(source: Any, path: str | os.PathLike[str]) -> None:
    """Writes an ONNX file that computes what an exported SavedModel does from ids.

    It takes `char_ids`, (batch, tokens + 2, 50) int32, of any batch and any number of
    tokens, as `CharacterIds` makes them: the boundaries included, 0 where masked. It
    returns `word_emb`, `lstm_outputs1` .. `lstm_outputsL`, `elmo` (the mix), `default`
    (its mean over the tokens) and `sequence_len`, all without the boundaries and 0
    where masked. Everything is float32. The file's metadata has the `tokenizer` of the
    training text, if that is known.

    Args:
        source: a pretraining directory, an exported SavedModel, an `Encoder`, or an
            `ElmoEmbedding`, whose first mix is kept.
        path: the file to write; one that stands there is replaced.

    Raises:
        ImportError: the extra `onnx` is not installed.
        OSError: there is no room for it.
        TypeError: `source` is something else.
        ValueError: `source` is a path without a model, `path` is a folder, or the model
            has more than the 2 GB of an ONNX file.
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        raise ValueError(f"`path` must be a file. Received: path={path!r}, a folder")
    embedding = load_embedding(source)
    size = 4 * embedding.encoder.count_params()
    if size > _MOST_BYTES:
        raise ValueError(
            f"{path}: the model has {size:,} bytes, and an ONNX file at most "
            f"{_MOST_BYTES:,}"
        )
    tokenizer = embedding.encoder.tokenizer
    model = _graph(embedding).model({"tokenizer": tokenizer} if tokenizer else {})
    content = model.SerializeToString()
    check_room(path, len(content))
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(content)


def _graph(embedding: ElmoEmbedding) -> OnnxGraph:
    units = embedding.encoder.config.projection_units
    graph = OnnxGraph("elmo")
    shape = ("batch", "positions", MAX_CHARACTERS)
    char_ids = graph.input("char_ids", "int32", shape)

    # === Masks ===
    first = graph.add("Gather", char_ids, graph.constant(0, "int64"), axis=2)
    valid = graph.add("Greater", first, graph.constant(0, "int32"))
    read = graph.cast(valid, "int64")
    lengths = graph.add("ReduceSum", read, graph.integers(1), keepdims=0)
    # A position holds a token where the one after it is valid.
    mask = graph.cast(graph.slice(valid, 2, TO_THE_END, axis=1), "float32")
    mask = graph.add("Unsqueeze", mask, graph.integers(2))

    # === Layers ===
    embedding_layer = embedding.encoder.get_layer("char_cnn_embedding")
    x = add_character_cnn(graph, embedding_layer, char_ids)
    rows = graph.add("Concat", graph.add("Shape", valid), graph.integers(units), axis=0)
    x = graph.add("Transpose", graph.add("Reshape", x, rows), perm=[1, 0, 2])
    layers = add_bilm(graph, embedding.encoder.get_layer("bilm"), x, lengths)
    # Without the boundaries; the last one of a short sentence lies inside the row.
    layers = [graph.slice(layer, 1, -1, axis=0) for layer in layers]
    layers = [graph.add("Transpose", layer, perm=[1, 0, 2]) for layer in layers]
    layers = [graph.add("Mul", layer, mask) for layer in layers]
    elmo = add_mix(graph, embedding.mixes[0], layers, mask, 2 * units)

    # === Outputs, by the names that the SavedModel has for them ===
    tokens = graph.add("ReduceSum", mask, graph.integers(1), keepdims=0)
    total = graph.add("ReduceSum", elmo, graph.integers(1), keepdims=0)
    mean = graph.add("Div", total, graph.add("Max", tokens, graph.constant(1)))
    word_emb = graph.slice(layers[0], 0, units, axis=2)
    graph.output(word_emb, "float32", ("batch", "tokens", units), "word_emb")
    vectors = {f"lstm_outputs{k}": layer for k, layer in enumerate(layers) if k > 0}
    for name, tensor in {**vectors, "elmo": elmo}.items():
        graph.output(tensor, "float32", ("batch", "tokens", 2 * units), name)
    graph.output(mean, "float32", ("batch", 2 * units), "default")
    count = graph.cast(graph.add("Squeeze", tokens, graph.integers(1)), "int32")
    graph.output(count, "int32", ("batch",), "sequence_len")
    return graph
