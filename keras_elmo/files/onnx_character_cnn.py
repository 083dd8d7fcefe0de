"""`CharCNNEmbedding` as operations of ONNX."""

import numpy as np

from keras_elmo.config import MAX_CHARACTERS
from keras_elmo.files.onnx_graph import TO_THE_END, OnnxGraph, array_of
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.highway import Highway


def add_character_cnn(graph: OnnxGraph, layer: CharCNNEmbedding, char_ids: str) -> str:
    """Adds the layer, which reads each distinct word of a batch once.

    Args:
        graph: what it is added to.
        layer: whose weights are stored.
        char_ids: `(batch, positions, 50)` int32.

    Returns:
        `(batch * positions, projection_units)`; masked positions hold anything.
    """
    words = graph.add("Reshape", char_ids, graph.integers(-1, MAX_CHARACTERS))
    # A masked word stands first, so that a batch without words has one to embed.
    masked = graph.constant(np.zeros((1, MAX_CHARACTERS)), "int32")
    words = graph.add("Concat", masked, words, axis=0)
    # ONNX Runtime tells rows apart if they are of 64 bits.
    words = graph.cast(words, "int64")
    words, _, places, _ = graph.add_several(4, "Unique", words, axis=0, sorted=0)
    widest = max(width for width, _ in layer.filters)
    embeddings = _embedded(graph, layer, _without_repeated_end(graph, words, widest))
    places = graph.slice(places, 1, TO_THE_END, axis=0)
    return graph.add("Gather", embeddings, places, axis=0)


def _without_repeated_end(graph: OnnxGraph, words: str, widest: int) -> str:
    """Leaves one window, for each width, of the character that ends all words."""
    end = graph.slice(words, -1, TO_THE_END, axis=1)
    goes_on = graph.add("Not", graph.add("Equal", words, end))
    place = graph.integers(*range(1, MAX_CHARACTERS + 1))
    place = graph.add("Mul", graph.cast(goes_on, "int64"), place)
    longest = graph.add("ReduceMax", place, axes=[0, 1], keepdims=0)
    length = graph.add("Add", longest, graph.integers(widest))
    return graph.add("Slice", words, graph.integers(0), length, graph.integers(1))


def _embedded(graph: OnnxGraph, layer: CharCNNEmbedding, words: str) -> str:
    """`(words, characters)` ids to `(words, projection_units)`."""
    table = graph.constant(array_of(layer.char_embedding))
    characters = graph.add("Gather", table, words, axis=0)
    characters = graph.add("Transpose", characters, perm=[0, 2, 1])
    features = []
    for kernel, bias in zip(layer.kernels, layer.biases, strict=True):
        kernel = graph.constant(array_of(kernel).transpose(2, 1, 0))
        x = graph.add("Conv", characters, kernel)
        x = graph.add("ReduceMax", x, axes=[2], keepdims=0)
        x = graph.add("Add", x, graph.constant(array_of(bias)))
        features.append(graph.add(layer.activation.capitalize(), x))
    x = graph.add("Concat", *features, axis=1)
    for highway in layer.highways:
        x = _highway(graph, highway, x)
    if layer.projection_kernel is None:
        return x
    kernel, bias = layer.projection_kernel, layer.projection_bias
    return graph.affine(x, array_of(kernel), array_of(bias))


def _highway(graph: OnnxGraph, layer: Highway, x: str) -> str:
    gate = graph.affine(x, array_of(layer.carry_kernel), array_of(layer.carry_bias))
    kernel, bias = layer.transform_kernel, layer.transform_bias
    transformed = graph.add("Relu", graph.affine(x, array_of(kernel), array_of(bias)))
    # g * t + (1 - g) * x
    change = graph.add("Sub", transformed, x)
    return graph.add("Add", x, graph.add("Mul", graph.add("Sigmoid", gate), change))
