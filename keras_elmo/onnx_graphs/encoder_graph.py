"""A biLM and its mix as ONNX operators, from character ids."""

from functools import singledispatch
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.highway import Highway
from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.layers.token_embedding import TokenEmbedding
from keras_elmo.layers.vocabulary_embedding import VocabularyEmbedding
from keras_elmo.models.encoder import Encoder
from keras_elmo.onnx_graphs.graph import TO_THE_END, OnnxGraph, to_float32
from keras_elmo.onnx_graphs.recurrence_graph import PackedRows, add_bilm
from keras_elmo.utils.checks import called


class EncodedTokens(NamedTuple):
    """The tokens of a batch, without the boundaries of sentences.

    Attributes:
        layers: `num_layers + 1` tensors `(batch, tokens, 2 * projection_units)`, 0
            where masked.
        is_token: `(batch, tokens)` booleans.
        mask: `(batch, tokens, 1)` float32, 1 at a token.
    """

    layers: list[str]
    is_token: str
    mask: str

    def mixed(self, graph: OnnxGraph, mix: ScalarMix, units: int) -> str:
        """Returns the mix of the layers, whose last axis has `units` elements."""
        layers = self.layers
        if mix.layer_norm:
            layers = [_normalize(graph, layer, self.mask, units) for layer in layers]
        weights = to_float32(mix.gamma * ops.softmax(mix.scalars))
        parts = [
            graph.add("Mul", layer, graph.constant(weight))
            for layer, weight in zip(layers, weights, strict=True)
        ]
        return graph.add("Sum", *parts)

    def lengths(self, graph: OnnxGraph) -> str:
        """Returns the `(batch,)` int32 numbers of tokens."""
        tokens = graph.cast(self.is_token, "int32")
        return graph.add("ReduceSum", tokens, graph.integers(1), keepdims=0)


def add_encoder(graph: OnnxGraph, encoder: Encoder, char_ids: str) -> EncodedTokens:
    """Runs a biLM on char_ids, `(batch, tokens + 2, ids_per_token)` int32."""
    first = graph.add("Gather", char_ids, graph.constant(0, "int64"), axis=2)
    masked = graph.add("Not", graph.add("Greater", first, graph.constant(0, "int32")))
    # A sentence ends at its first masked position, as `leading` has it.
    before = graph.add(
        "CumSum", graph.cast(masked, "int32"), graph.constant(1, "int64")
    )
    valid = graph.add("Equal", before, graph.constant(0, "int32"))
    # A position holds a token where the next one is valid.
    is_token = graph.slice(valid, 2, TO_THE_END, axis=1)
    mask = graph.add("Unsqueeze", graph.cast(is_token, "float32"), graph.integers(2))
    rows = PackedRows(graph, valid)
    # Each unique word of a batch is embedded once.
    num_ids = encoder.config.ids_per_token
    words = graph.add("Reshape", char_ids, graph.integers(-1, num_ids))
    # A masked word comes first, so that a batch without words has one to embed.
    no_word = graph.constant(np.zeros((1, num_ids)), "int32")
    words = graph.add("Concat", no_word, words, axis=0)
    # ONNX Runtime finds unique rows of 64-bit numbers only.
    words = graph.cast(words, "int64")
    words, _, indices, _ = graph.add_several(4, "Unique", words, axis=0, sorted=0)
    embeddings = embed_words(encoder.token_embedding, graph, words, num_ids)
    x = graph.add("Gather", embeddings, graph.add("Gather", indices, rows.positions))
    packed = add_bilm(graph, encoder.get_layer("bilm"), rows, x)
    return EncodedTokens(rows.unpack(graph, packed, is_token), is_token, mask)


@singledispatch
def embed_words(
    layer: TokenEmbedding, graph: OnnxGraph, words: str, num_ids: int
) -> str:
    """Maps `(words, num_ids)` int64 ids to `(words, projection_units)` vectors.

    Each kind of token embedding registers a function.
    """
    raise ValueError(
        f"{called('source')} must have a token embedding with a form in ONNX. "
        f"Received: a {type(layer).__name__}"
    )


@embed_words.register
def _look_up(
    layer: VocabularyEmbedding, graph: OnnxGraph, words: str, num_ids: int
) -> str:
    zero = graph.constant(0, "int64")
    parts = []
    if layer.word_embedding is not None:
        ids = graph.add("Gather", words, zero, axis=1)
        # The masked id has no row; its vector is not used.
        rows = graph.add("Max", graph.add("Sub", ids, graph.integers(1)), zero)
        table = graph.constant(to_float32(layer.word_embedding))
        parts.append(graph.add("Gather", table, rows, axis=0))
        words = graph.slice(words, 1, TO_THE_END, axis=1)
        num_ids -= 1
    if layer.char_cnn is not None:
        parts.append(embed_words(layer.char_cnn, graph, words, num_ids))
    return _project(graph, layer, graph.add("Concat", *parts, axis=1))


def _without_padding(graph: OnnxGraph, words: str, widest: int, num_ids: int) -> str:
    """Keeps one window, of each width, of the padding that ends all words."""
    padding = graph.slice(words, -1, TO_THE_END, axis=1)
    is_character = graph.add("Not", graph.add("Equal", words, padding))
    number = graph.integers(*range(1, num_ids + 1))
    number = graph.add("Mul", graph.cast(is_character, "int64"), number)
    longest = graph.add("ReduceMax", number, axes=[0, 1], keepdims=0)
    stop = graph.add("Add", longest, graph.integers(widest))
    return graph.add("Slice", words, graph.integers(0), stop, graph.integers(1))


@embed_words.register
def _embed_characters(
    layer: CharCNNEmbedding, graph: OnnxGraph, words: str, num_ids: int
) -> str:
    widest = max(width for width, _ in layer.filters)
    words = _without_padding(graph, words, widest, num_ids)
    table = graph.constant(to_float32(layer.char_embedding))
    characters = graph.add("Gather", table, words, axis=0)
    characters = graph.add("Transpose", characters, perm=[0, 2, 1])
    features = []
    for kernel, bias in zip(layer.kernels, layer.biases, strict=True):
        kernel = graph.constant(to_float32(kernel).transpose(2, 1, 0))
        x = graph.add("Conv", characters, kernel)
        x = graph.add("ReduceMax", x, axes=[2], keepdims=0)
        x = graph.add("Add", x, graph.constant(to_float32(bias)))
        features.append(graph.add(layer.activation.capitalize(), x))
    x = graph.add("Concat", *features, axis=1)
    for highway in layer.highways:
        x = _add_highway(graph, highway, x)
    return _project(graph, layer, x)


def _project(graph: OnnxGraph, layer: TokenEmbedding, x: str) -> str:
    if layer.projection_kernel is None:
        return x
    return graph.affine(x, layer.projection_kernel, layer.projection_bias)


def _add_highway(graph: OnnxGraph, layer: Highway, x: str) -> str:
    carry = graph.affine(x, layer.carry_kernel, layer.carry_bias)
    y = graph.affine(x, layer.transform_kernel, layer.transform_bias)
    # carry * y + (1 - carry) * x
    change = graph.add("Sub", graph.add("Relu", y), x)
    return graph.add("Add", x, graph.add("Mul", graph.add("Sigmoid", carry), change))


def _normalize(graph: OnnxGraph, layer: str, mask: str, units: int) -> str:
    """Returns zero mean and unit variance over the unmasked elements, 0 elsewhere."""
    # At least one token, so that a batch without any word divides by something.
    tokens = graph.add("ReduceSum", mask, keepdims=0)
    tokens = graph.add("Max", tokens, graph.constant(1))
    count = graph.add("Mul", tokens, graph.constant(units))
    mean = graph.add("Div", graph.add("ReduceSum", layer, keepdims=0), count)
    centred = graph.add("Mul", graph.add("Sub", layer, mean), mask)
    squares = graph.add("ReduceSumSquare", centred, keepdims=0)
    variance = graph.add("Div", squares, count)
    variance = graph.add("Add", variance, graph.constant(1e-12))
    return graph.add("Div", centred, graph.add("Sqrt", variance))
