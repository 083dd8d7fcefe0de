"""Layers as ONNX operators."""

import numpy as np
from keras import ops

from keras_elmo.files.onnx_graph import TO_THE_END, OnnxGraph, array_of
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.highway import Highway
from keras_elmo.layers.projected_lstm import ProjectedLSTM
from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.layers.vocabulary_embedding import VocabularyEmbedding


def add_token_embedding(
    graph: OnnxGraph,
    layer: CharCNNEmbedding | VocabularyEmbedding,
    char_ids: str,
    num_ids: int,
) -> str:
    """Embeds each unique word of a batch once.

    Maps `(batch, positions, num_ids)` int32 to `(batch * positions, projection_units)`,
    where masked positions hold any numbers.
    """
    words = graph.add("Reshape", char_ids, graph.integers(-1, num_ids))
    # A masked word comes first, so that a batch without words has one to embed.
    masked = graph.constant(np.zeros((1, num_ids)), "int32")
    words = graph.add("Concat", masked, words, axis=0)
    # ONNX Runtime finds unique rows of 64-bit numbers only.
    words = graph.cast(words, "int64")
    words, _, indices, _ = graph.add_several(4, "Unique", words, axis=0, sorted=0)
    if isinstance(layer, VocabularyEmbedding):
        embeddings = _look_up(graph, layer, words, num_ids)
    else:
        embeddings = _embed_characters(graph, layer, words, num_ids)
    indices = graph.slice(indices, 1, TO_THE_END, axis=0)
    return graph.add("Gather", embeddings, indices, axis=0)


def _look_up(
    graph: OnnxGraph, layer: VocabularyEmbedding, words: str, num_ids: int
) -> str:
    zero = graph.constant(0, "int64")
    parts = []
    if layer.word_embedding is not None:
        ids = graph.add("Gather", words, zero, axis=1)
        # The masked id has no row; its vector is not used.
        rows = graph.add("Max", graph.add("Sub", ids, graph.integers(1)), zero)
        table = graph.constant(array_of(layer.word_embedding))
        parts.append(graph.add("Gather", table, rows, axis=0))
        words = graph.slice(words, 1, TO_THE_END, axis=1)
        num_ids -= 1
    if layer.char_cnn is not None:
        parts.append(_embed_characters(graph, layer.char_cnn, words, num_ids))
    x = graph.add("Concat", *parts, axis=1)
    if layer.projection_kernel is None:
        return x
    return graph.affine(x, layer.projection_kernel, layer.projection_bias)


def _without_padding(graph: OnnxGraph, words: str, widest: int, num_ids: int) -> str:
    """Keeps one window, of each width, of the padding that ends all words."""
    padding = graph.slice(words, -1, TO_THE_END, axis=1)
    is_character = graph.add("Not", graph.add("Equal", words, padding))
    number = graph.integers(*range(1, num_ids + 1))
    number = graph.add("Mul", graph.cast(is_character, "int64"), number)
    longest = graph.add("ReduceMax", number, axes=[0, 1], keepdims=0)
    stop = graph.add("Add", longest, graph.integers(widest))
    return graph.add("Slice", words, graph.integers(0), stop, graph.integers(1))


def _embed_characters(
    graph: OnnxGraph, layer: CharCNNEmbedding, words: str, num_ids: int
) -> str:
    """Maps `(words, num_ids)` ids to `(words, projection_units)` vectors."""
    widest = max(width for width, _ in layer.filters)
    words = _without_padding(graph, words, widest, num_ids)
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
        x = _add_highway(graph, highway, x)
    if layer.projection_kernel is None:
        return x
    return graph.affine(x, layer.projection_kernel, layer.projection_bias)


def _add_highway(graph: OnnxGraph, layer: Highway, x: str) -> str:
    carry = graph.affine(x, layer.carry_kernel, layer.carry_bias)
    y = graph.affine(x, layer.transform_kernel, layer.transform_bias)
    # carry * y + (1 - carry) * x
    change = graph.add("Sub", graph.add("Relu", y), x)
    return graph.add("Add", x, graph.add("Mul", graph.add("Sigmoid", carry), change))


def add_bilm(graph: OnnxGraph, layer: BiLM, x: str, lengths: str) -> list[str]:
    """Runs the layers from a fresh state.

    Args:
        graph, layer: what the operators are added to, and whose weights are stored.
        x: `(positions, batch, projection_units)`.
        lengths: `(batch,)` int64, how many positions of a row are not masked.

    Returns:
        `num_layers + 1` tensors `(positions, batch, 2 * projection_units)`; masked
        positions hold any numbers.
    """

    def reverse(x: str) -> str:
        # Of each row, the positions that are not masked.
        return graph.add("ReverseSequence", x, lengths, time_axis=0, batch_axis=1)

    inputs = [x, reverse(x)]
    layers = [graph.add("Concat", x, x, axis=2)]
    pairs = zip(layer.forward_layers, layer.backward_layers, strict=True)
    for k, pair in enumerate(pairs):
        outputs = _run_lstm(graph, f"layer_{k + 1}", pair, inputs)
        if layer.skip_connections and k > 0:
            sums = zip(outputs, inputs, strict=True)
            outputs = [graph.add("Add", *each) for each in sums]
        inputs = outputs
        layers.append(graph.add("Concat", outputs[0], reverse(outputs[1]), axis=2))
    return layers


def _run_lstm(
    graph: OnnxGraph, name: str, pair: tuple[ProjectedLSTM, ...], inputs: list[str]
) -> list[str]:
    """Runs both directions of a layer in one loop over the positions.

    Padding follows a row's positions in both, so it reaches nothing that is kept.
    """
    body = OnnxGraph(name)
    batch = graph.slice(graph.add("Shape", inputs[0]), 1, 2, axis=0)
    initial, states, outputs = [], [], []
    for k, layer in enumerate(pair):
        for state, size in (("h", layer.projection_units), ("c", layer.units)):
            shape = graph.add("Concat", batch, graph.integers(size), axis=0)
            initial.append(graph.add("ConstantOfShape", shape))
            states.append(body.input(f"{name}_{state}_{k}", "float32", ("batch", size)))
    for k, layer in enumerate(pair):
        gates = body.input(f"{name}_gates_{k}", "float32", ("batch", 4 * layer.units))
        h, c = _add_step(body, layer, states[2 * k], states[2 * k + 1], gates)
        body.output(h, "float32", ("batch", layer.projection_units))
        body.output(c, "float32", ("batch", layer.units))
        # A state goes to the next step only; what is kept needs another name.
        outputs.append(body.add("Identity", h))
    for layer, output in zip(pair, outputs, strict=True):
        body.output(output, "float32", ("batch", layer.projection_units))
    gates_of = zip(pair, inputs, strict=True)
    initial += [_input_gates(graph, layer, x) for layer, x in gates_of]
    *_, forward, backward = graph.add_several(
        6, "Scan", *initial, body=body.build(), num_scan_inputs=2
    )
    return [forward, backward]


def _input_gates(graph: OnnxGraph, layer: ProjectedLSTM, x: str) -> str:
    """Computes the inputs' share of the gates, for all positions at once."""
    # The forget gate's bias of one is not among the weights.
    forget = np.repeat(np.array([0, 0, 1, 0], "float32"), layer.units)
    kernel = array_of(layer.kernel)[: -layer.projection_units]
    return graph.affine(x, kernel, array_of(layer.bias) + forget)


def _add_step(
    body: OnnxGraph, layer: ProjectedLSTM, h: str, c: str, gates: str
) -> tuple[str, str]:
    """Returns the next `h` and `c`."""
    kernel = body.constant(array_of(layer.kernel)[-layer.projection_units :])
    gates = body.add("Add", gates, body.add("MatMul", h, kernel))
    i, j, f, o = body.add_several(4, "Split", gates, axis=1)
    i, f, o = (body.add("Sigmoid", gate) for gate in (i, f, o))
    kept = body.add("Mul", f, c)
    c = body.add("Add", kept, body.add("Mul", i, body.add("Tanh", j)))
    c = _clip(body, c, layer.cell_clip)
    kernel = body.constant(array_of(layer.projection_kernel))
    h = body.add("MatMul", body.add("Mul", o, body.add("Tanh", c)), kernel)
    return _clip(body, h, layer.projection_clip), c


def _clip(body: OnnxGraph, x: str, bound: float | None) -> str:
    if bound is None:
        return x
    return body.add("Clip", x, body.constant(-bound), body.constant(bound))


def add_scalar_mix(
    graph: OnnxGraph, mix: ScalarMix, layers: list[str], mask: str, units: int
) -> str:
    """Mixes `(batch, tokens, units)` layers that are 0 where `mask` is 0.

    The mask is `(batch, tokens, 1)` float32.
    """
    if mix.layer_norm:
        layers = [_normalize(graph, layer, mask, units) for layer in layers]
    weights = array_of(mix.gamma * ops.softmax(mix.scalars))
    parts = [
        graph.add("Mul", layer, graph.constant(weight))
        for layer, weight in zip(layers, weights, strict=True)
    ]
    return graph.add("Sum", *parts)


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
